// A net of the stand-in, which only the stand-in's library makes. Its functions have Caffe's names.
extern "C" {
void _ZN5caffe3NetIfE4InitERKNS_12NetParameterE(int* net, const void*) { *net += 7; }
void* _ZNK5caffe3NetIfE6layersEv(void* net) { return net; }
}

int make_net() {
  int made = 0;
  _ZN5caffe3NetIfE4InitERKNS_12NetParameterE(&made, nullptr);
  return made;
}
