// cuRAND by a generator of the host: number i of a seed is a hash of both, so that numbers depend on seed and order of calls alone.
#include <cmath>
#include <cstdint>

#include "curand.h"

struct curandGenerator_st {
  uint64_t seed = 0, next = 0;
};

namespace {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
uint64_t bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Above 0 and at most 1, as cuRAND's.
double uniform(uint64_t seed, uint64_t index) { return static_cast<double>((bits(seed, index) >> 40) + 1) / (1 << 24); }

// The transform of Box and Muller gives normal numbers.
double normal(uint64_t seed, uint64_t index) {
  const double pi = 3.14159265358979323846;
  const double radius = std::sqrt(-2 * std::log(uniform(seed, 2 * index)));
  return radius * std::cos(2 * pi * uniform(seed, 2 * index + 1));
}

// Queues the filling of `out` in the legacy default stream, where Caffe's generators work.
template <typename Number, typename Draw>
curandStatus_t fill(curandGenerator_t generator, Number* out, size_t count, Draw draw) {
  const uint64_t seed = generator->seed, first = generator->next;
  generator->next += count;
  const cudaError_t error = host_cuda::queue("curand", nullptr, {{out, true}}, [=](void* const* bytes) {
    Number* const here = static_cast<Number*>(bytes[0]);
    for (size_t i = 0; i < count; ++i) here[i] = static_cast<Number>(draw(seed, first + i));
  });
  return error == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

template <typename Number>
curandStatus_t fill_normal(curandGenerator_t generator, Number* out, size_t count, Number mean, Number deviation) {
  // Numbers come in pairs.
  if (count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return fill(generator, out, count, [=](uint64_t seed, uint64_t index) { return mean + deviation * normal(seed, index); });
}

}  // namespace

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t) {
  *generator = new curandGenerator_st;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  *generator = {};
  generator->seed = seed;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  generator->next = offset;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* out, size_t count) {
  return fill(generator, out, count, [](uint64_t seed, uint64_t index) { return bits(seed, index) >> 32; });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t count) {
  return fill(generator, out, count, uniform);
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t count) {
  return fill(generator, out, count, uniform);
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t count, float mean, float deviation) {
  return fill_normal(generator, out, count, mean, deviation);
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t count, double mean, double deviation) {
  return fill_normal(generator, out, count, mean, deviation);
}
}
