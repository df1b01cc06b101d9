"""The messages of other Caffes, described to protobuf's own Python package by their numbers."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto


def _message(file, name, fields):
    """Adds a message: its fields are (name, number, type, is a packed list)."""
    message = file.message_type.add(name=name)
    for field, number, kind, is_list in fields:
        added = message.field.add(name=field, number=number)
        added.label = FIELD.LABEL_REPEATED if is_list else FIELD.LABEL_OPTIONAL
        if isinstance(kind, str):
            added.type, added.type_name = FIELD.TYPE_MESSAGE, f".{file.package}.{kind}"
        else:
            added.type = kind
            if is_list and kind in (FIELD.TYPE_FLOAT, FIELD.TYPE_DOUBLE, FIELD.TYPE_INT64):
                added.options.packed = True


def _family(package, blob):
    """The Blob, Layers (V1), Layer (V2), Net and Vector of a Caffe whose blob has these fields."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    text, number = FIELD.TYPE_STRING, FIELD.TYPE_INT32
    _message(file, "Shape", [("dim", 1, FIELD.TYPE_INT64, True)])
    _message(file, "Blob", blob)
    _message(file, "Layers", [("name", 4, text, False), ("type", 5, number, False), ("blobs", 6, "Blob", True)])
    _message(file, "Layer", [("name", 1, text, False), ("type", 2, text, False), ("blobs", 7, "Blob", True)])
    _message(file, "Net", [("name", 1, text, False), ("layers", 2, "Layers", True), ("layer", 100, "Layer", True)])
    _message(file, "Vector", [("blobs", 1, "Blob", True)])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {
        name: factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in ("Blob", "Net", "Vector")
    }


_DIMS = ("num", "channels", "height", "width")
_FLOATS = [("data", 5, FIELD.TYPE_FLOAT, True), ("diff", 6, FIELD.TYPE_FLOAT, True), ("shape", 7, "Shape", False)]
_DOUBLES = [("double_data", 8, FIELD.TYPE_DOUBLE, True), ("double_diff", 9, FIELD.TYPE_DOUBLE, True)]
_LEGACY = [(name, number, FIELD.TYPE_INT32, False) for number, name in enumerate(_DIMS, 1)]

NVIDIA = _family(
    "nvidia",
    _LEGACY
    + _FLOATS
    + _DOUBLES
    + [
        ("raw_data_type", 10, FIELD.TYPE_INT32, False),
        ("raw_diff_type", 11, FIELD.TYPE_INT32, False),
        ("raw_data", 12, FIELD.TYPE_BYTES, False),
        ("raw_diff", 13, FIELD.TYPE_BYTES, False),
    ],
)

C3D = _family(
    "c3d",
    [
        (name, number, FIELD.TYPE_INT32, False)
        for number, name in enumerate(("num", "channels", "length", "height", "width"), 1)
    ]
    + [("data", 6, FIELD.TYPE_FLOAT, True), ("diff", 7, FIELD.TYPE_FLOAT, True)],
)


def _caffe2(package, is_packed):
    """The NetDef of Caffe2. Caffe2 itself writes lists of numbers without packing them."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    text, number, data = FIELD.TYPE_STRING, FIELD.TYPE_INT64, FIELD.TYPE_BYTES
    argument = [("name", 1, text, False), ("f", 2, FIELD.TYPE_FLOAT, False), ("i", 3, number, False), ("s", 4, data, False)]
    lists = [("floats", 5, FIELD.TYPE_FLOAT, True), ("ints", 6, number, True), ("strings", 7, data, True)]
    _message(file, "Argument", argument + lists)
    for field in file.message_type[0].field:
        if field.options.packed:
            field.options.packed = is_packed
    names = [("input", 1, text, True), ("output", 2, text, True), ("name", 3, text, False), ("type", 4, text, False)]
    _message(file, "Operator", names + [("arg", 5, "Argument", True)])
    outputs = [("external_input", 7, text, True), ("external_output", 8, text, True)]
    _message(file, "Net", [("name", 1, text, False), ("op", 2, "Operator", True), ("type", 3, text, False)] + outputs)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(f"{package}.Net"))


CAFFE2 = {"as Caffe2 writes them": _caffe2("caffe2", False), "packed": _caffe2("caffe2_packed", True)}
