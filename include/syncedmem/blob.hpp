/*
 * Caffe's Blob for C++11 and later, without Caffe. Part of libsyncedmem. SPDX-License-Identifier: BSD-2-Clause
 *
 * One header-only class over the C API of syncedmem_blob.h, with every public name of caffe::Blob<Dtype>.
 *
 *     syncedmem::Blob<float> blob(2, 3, 4, 5);
 *     blob.mutable_cpu_data()[blob.offset(1, 2)] = 1.0f;
 *     float sum = blob.asum_data();
 *
 * Code in namespace caffe includes blob/compat.hpp instead, which adds Caffe's own names.
 *
 * Messages. Reshape, ShapeEquals, FromProto and ToProto are templates over the message: the classes that protoc generates
 * from any caffe.proto, or any class with their accessors. This header includes nothing of protobuf.
 *
 * Failures. Where Caffe's CHECK ends the process, these functions throw as those of syncedmem.hpp do: std::invalid_argument,
 * out_of_memory or error, with a sentence; the blob is then as it was. An exception that no code catches ends the process by
 * SIGABRT, as a CHECK does; so does one that leaves a noexcept function.
 *
 * Threads. Const functions may run on many threads at once; others need the blob, and the memory that it shares, alone.
 *
 * Differences from Caffe's class, each of which fixes a fault, are listed in docs/blob.md.
 */

#ifndef SYNCEDMEM_BLOB_HPP
#define SYNCEDMEM_BLOB_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../syncedmem.hpp"
#include "../syncedmem_blob.h"

namespace syncedmem {

/// The most axes of a blob.
const int kMaxBlobAxes = SYNCEDMEM_BLOB_MAX_AXES;

/// The number of an element type in the C API. Caffe has blobs of these four.
template <typename Dtype>
struct element_type;
template <>
struct element_type<float> : std::integral_constant<syncedmem_type_t, SYNCEDMEM_FLOAT32> {};
template <>
struct element_type<double> : std::integral_constant<syncedmem_type_t, SYNCEDMEM_FLOAT64> {};
template <>
struct element_type<int> : std::integral_constant<syncedmem_type_t, SYNCEDMEM_INT32> {};
template <>
struct element_type<unsigned int> : std::integral_constant<syncedmem_type_t, SYNCEDMEM_UINT32> {};

/// A shape and two arrays of it, the data and the diff, each in a SyncedMemory that blobs may share. `Dtype` is float or
/// double; int and unsigned int have no mathematics and no ToProto.
template <typename Dtype>
class Blob {
 public:
  /// A blob without a shape: no axes, count 0, and no memory before Reshape.
  Blob() : count_(0) {
    syncedmem_blob_t* blob = nullptr;
    check(syncedmem_blob_create(element_type<Dtype>::value, &blob));
    blob_.reset(blob);
  }
  explicit Blob(const std::vector<int>& shape) : Blob() { Reshape(shape); }
  explicit Blob(int num, int channels, int height, int width) : Blob() { Reshape(num, channels, height, width); }

  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  /// The handle, for the C API. Change shape and sharing by this class only, which keeps a copy of them.
  syncedmem_blob_t* get() const noexcept { return blob_.get(); }

  // --- the shape ------------------------------------------------------------------------------

  /// Changes the shape, of at most 32 axes and INT_MAX elements. An array whose memory is large enough keeps it, with its
  /// contents; any other gets new memory of zeros.
  void Reshape(const std::vector<int>& shape) { reshape(Dims(shape.begin(), shape.end())); }
  void Reshape(int num, int channels, int height, int width) { reshape(Dims{num, channels, height, width}); }
  /// The shape of a message BlobShape.
  template <typename Shape>
  auto Reshape(const Shape& shape) -> decltype(shape.dim(shape.dim_size()), void()) {
    reshape(dims(shape));
  }
  void ReshapeLike(const Blob& other) { Reshape(other.shape()); }

  const std::vector<int>& shape() const { return shape_; }
  /// The length of an axis; -1 is the last one.
  int shape(int index) const { return is_axis(index) ? at(index) : answer(syncedmem_blob_shape, index); }
  int num_axes() const { return static_cast<int>(shape_.size()); }
  int count() const { return count_; }
  /// The product of the axes from `start_axis` up to `end_axis`, exclusive.
  int count(int start_axis, int end_axis) const { return answer(syncedmem_blob_count_axes, start_axis, end_axis); }
  int count(int start_axis) const { return count(start_axis, num_axes()); }

  /// The shape as text, such as "2 3 4 5 (120)".
  std::string shape_string() const {
    char text[SYNCEDMEM_BLOB_SHAPE_STRING_BYTES];
    check(syncedmem_blob_shape_string(get(), text, sizeof text));
    return text;
  }

  /// Converts an axis that may be counted from -1 backwards to one counted from 0.
  int CanonicalAxisIndex(int axis_index) const {
    answer(syncedmem_blob_shape, axis_index);  // refuses another axis
    return axis_index < 0 ? axis_index + num_axes() : axis_index;
  }

  // The axes of a blob of at most four; missing ones are 1.
  int num() const { return LegacyShape(0); }
  int channels() const { return LegacyShape(1); }
  int height() const { return LegacyShape(2); }
  int width() const { return LegacyShape(3); }
  int LegacyShape(int index) const {
    return is_axis(index) && num_axes() <= 4 ? at(index) : answer(syncedmem_blob_legacy_shape, index);
  }

  // --- places and elements --------------------------------------------------------------------

  /// The place of an element of a blob of at most four axes. An index may be one past its axis.
  int offset(int n, int c = 0, int h = 0, int w = 0) const {
    return answer(syncedmem_blob_legacy_offset, n, c, h, w);
  }
  /// The place of an element; indices left out are 0.
  int offset(const std::vector<int>& indices) const {
    const Dims wide(indices.begin(), indices.end());
    return answer(syncedmem_blob_offset, wide.size(), wide.data());
  }

  // One element on the host. They throw std::invalid_argument past the end.
  Dtype data_at(int n, int c, int h, int w) const { return cpu_data()[element(offset(n, c, h, w))]; }
  Dtype diff_at(int n, int c, int h, int w) const { return cpu_diff()[element(offset(n, c, h, w))]; }
  Dtype data_at(const std::vector<int>& index) const { return cpu_data()[element(offset(index))]; }
  Dtype diff_at(const std::vector<int>& index) const { return cpu_diff()[element(offset(index))]; }

  // --- memory ---------------------------------------------------------------------------------

  /// The memory of the data, one object for all blobs that share it. A copy of the pointer keeps it. Throws error (no shape).
  const std::shared_ptr<SyncedMemory>& data() const { return memory(SYNCEDMEM_DATA); }
  const std::shared_ptr<SyncedMemory>& diff() const { return memory(SYNCEDMEM_DIFF); }

  // Accesses, as those of SyncedMemory.
  const Dtype* cpu_data() const { return data()->template cpu_data<Dtype>(); }
  const Dtype* gpu_data() const { return data()->template gpu_data<Dtype>(); }
  const Dtype* cpu_diff() const { return diff()->template cpu_data<Dtype>(); }
  const Dtype* gpu_diff() const { return diff()->template gpu_data<Dtype>(); }
  Dtype* mutable_cpu_data() { return data()->template mutable_cpu_data<Dtype>(); }
  Dtype* mutable_gpu_data() { return data()->template mutable_gpu_data<Dtype>(); }
  Dtype* mutable_cpu_diff() { return diff()->template mutable_cpu_data<Dtype>(); }
  Dtype* mutable_gpu_diff() { return diff()->template mutable_gpu_data<Dtype>(); }

  /// Borrows the caller's memory of count() elements as the host side of the data, which is then the newest. Memory of
  /// another size is replaced first; the diff stays. Throws error (no shape, EXPORTED).
  void set_cpu_data(Dtype* data) {
    check(syncedmem_blob_set_cpu_data(get(), SYNCEDMEM_DATA, data));
    hold(SYNCEDMEM_DATA);
  }
  /// As set_cpu_data, for the device side.
  void set_gpu_data(Dtype* data) {
    check(syncedmem_blob_set_gpu_data(get(), SYNCEDMEM_DATA, data));
    hold(SYNCEDMEM_DATA);
  }

  /// The shape in device memory, valid until it changes.
  const int* gpu_shape() const {
    const void* shape = nullptr;
    check(syncedmem_blob_gpu_shape(get(), &shape));
    return static_cast<const int*>(shape);
  }

  /// Shares the memory of `other`, which has the same count. Throws error (no shape).
  void ShareData(const Blob& other) { share(SYNCEDMEM_DATA, other); }
  void ShareDiff(const Blob& other) { share(SYNCEDMEM_DIFF, other); }

  /// Copies the data, or with `copy_diff` the diff, on the side where the source is current. With `reshape` the blob takes the
  /// shape of `source`, else both have the same.
  void CopyFrom(const Blob& source, bool copy_diff = false, bool reshape = false) {
    if (reshape && (count_ != source.count_ || shape_ != source.shape_)) {
      source.data();  // throws if it has no shape
      ReshapeLike(source);
    }
    check(syncedmem_blob_copy_from(get(), copy_diff ? SYNCEDMEM_DIFF : SYNCEDMEM_DATA, source.get(), false));
  }

  // --- mathematics, on the side that is current; for float and double --------------------------

  /// Subtracts the diff from the data. Throws error (INVALID_STATE: the data was never touched).
  void Update() { check(syncedmem_blob_update(get())); }
  /// The sum of the absolute values; 0 if the array was never touched.
  Dtype asum_data() const { return sum(syncedmem_blob_asum, SYNCEDMEM_DATA); }
  Dtype asum_diff() const { return sum(syncedmem_blob_asum, SYNCEDMEM_DIFF); }
  /// The sum of the squares; 0 if the array was never touched.
  Dtype sumsq_data() const { return sum(syncedmem_blob_sumsq, SYNCEDMEM_DATA); }
  Dtype sumsq_diff() const { return sum(syncedmem_blob_sumsq, SYNCEDMEM_DIFF); }
  /// Multiplies each element; does nothing if the array was never touched.
  void scale_data(Dtype scale_factor) { check(syncedmem_blob_scale(get(), SYNCEDMEM_DATA, scale_factor)); }
  void scale_diff(Dtype scale_factor) { check(syncedmem_blob_scale(get(), SYNCEDMEM_DIFF, scale_factor)); }

  // --- messages BlobProto ----------------------------------------------------------------------

  /// Whether a message has this shape. Legacy dimensions win over its shape, and are compared from the end.
  template <typename Proto>
  bool ShapeEquals(const Proto& other) const {
    const bool legacy = is_legacy(other);
    const Dims dims = dims_of(other);
    bool equals = false;
    check(syncedmem_blob_shape_equals(get(), dims.size(), dims.data(), legacy, &equals));
    return equals;
  }

  /// Reads shape, data and, if the message has one, diff. Doubles win over floats. Without `reshape` the shapes have to be
  /// equal. Throws std::invalid_argument, and out_of_memory, after which the blob may have the new shape.
  template <typename Proto>
  void FromProto(const Proto& proto, bool reshape = true) {
    // Makes a blob of that shape first, which refuses a bad shape and counts the values that are needed.
    Blob wanted;
    wanted.reshape(dims_of(proto));
    if (!reshape && !ShapeEquals(proto)) {
      refuse("FromProto: the message's shape is " + wanted.shape_string() + " and the blob's " + shape_string() +
             "; pass reshape as true, or reshape the blob first");
    }
    const bool doubles = proto.double_data_size() > 0, double_diffs = proto.double_diff_size() > 0;
    const int values = doubles ? proto.double_data_size() : proto.data_size();
    const int diffs = double_diffs ? proto.double_diff_size() : proto.diff_size();
    if (values != wanted.count() || (diffs != 0 && diffs != wanted.count())) {
      refuse("FromProto: the message has " + std::to_string(values) + " values of data and " + std::to_string(diffs) +
             " of diff for a shape of " + wanted.shape_string() + "; it is damaged, or not of a blob: read it again");
    }
    if (reshape) this->reshape(dims_of(proto));
    Dtype* to = to_fill(data());
    for (int i = 0; i < values; ++i) to[i] = static_cast<Dtype>(doubles ? proto.double_data(i) : proto.data(i));
    if (diffs == 0) return;
    to = to_fill(diff());
    for (int i = 0; i < diffs; ++i) to[i] = static_cast<Dtype>(double_diffs ? proto.double_diff(i) : proto.diff(i));
  }

  /// Writes shape, data and, with `write_diff`, diff, and clears what else FromProto reads. Throws as an access, before it writes.
  template <typename Proto>
  void ToProto(Proto* proto, bool write_diff = false) const {
    static_assert(std::is_floating_point<Dtype>::value, "messages have no field for the values of a blob of integers");
    const Dtype* data = cpu_data();
    const Dtype* diff = write_diff ? cpu_diff() : nullptr;
    proto->clear_num();
    proto->clear_channels();
    proto->clear_height();
    proto->clear_width();
    proto->clear_shape();
    proto->clear_data();
    proto->clear_diff();
    proto->clear_double_data();
    proto->clear_double_diff();
    for (const int dim : shape_) proto->mutable_shape()->add_dim(dim);
    write(proto, data, diff);
  }

 private:
  typedef std::vector<std::int64_t> Dims;

  struct Destroy {
    void operator()(syncedmem_blob_t* blob) const noexcept { syncedmem_blob_destroy(blob); }
  };

  /// Ends the ownership of held memory, and deletes its C++ object.
  struct Release {
    void operator()(SyncedMemory* memory) const noexcept {
      syncedmem_blob_release_memory(memory->release());
      delete memory;
    }
  };

  [[noreturn]] static void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

  // Axes counted from 0 need no call. The C API has the rules for all others.
  bool is_axis(int index) const { return 0 <= index && index < num_axes(); }
  int at(int index) const { return shape_[static_cast<std::size_t>(index)]; }

  /// The number that a function of the C API writes.
  template <typename Function, typename... Arguments>
  int answer(Function* function, Arguments... arguments) const {
    std::int64_t answer = 0;
    check(function(get(), arguments..., &answer));
    return static_cast<int>(answer);
  }

  void reshape(const Dims& dims) {
    // Every step that can fail comes before the first change.
    shape_.reserve(dims.size());
    check(syncedmem_blob_reshape(get(), dims.size(), dims.data()));
    shape_.assign(dims.begin(), dims.end());
    std::int64_t count = 0;
    check(syncedmem_blob_count(get(), &count));
    count_ = static_cast<int>(count);
    try {
      hold(SYNCEDMEM_DATA);
    } catch (...) {
      memories_[SYNCEDMEM_DIFF].reset();  // it may lead to smaller memory too
      throw;
    }
    hold(SYNCEDMEM_DIFF);
  }

  /// Updates the pointer of an array after its memory may have changed.
  void hold(syncedmem_array_t array) {
    std::shared_ptr<SyncedMemory>& held = memories_[array];
    syncedmem_t* memory = nullptr;
    check(syncedmem_blob_memory(get(), array, &memory));
    if (held && held->get() == memory) return;
    held.reset();  // it must not lead to smaller memory if there is none for the new pointer
    held.reset(new SyncedMemory(SyncedMemory::adopt(nullptr)), Release());
    check(syncedmem_blob_hold_memory(get(), array, &memory));
    *held = SyncedMemory::adopt(memory);
  }

  const std::shared_ptr<SyncedMemory>& memory(syncedmem_array_t array) const {
    const std::shared_ptr<SyncedMemory>& held = memories_[array];
    if (!held) {
      syncedmem_t* memory = nullptr;
      check(syncedmem_blob_memory(get(), array, &memory));
      throw out_of_memory("Blob: its last Reshape had no memory for the pointer to this array; call Reshape again");
    }
    return held;
  }

  void share(syncedmem_array_t array, const Blob& other) {
    check(syncedmem_blob_share(get(), array, other.get()));
    memories_[array] = other.memories_[array];
  }

  Dtype sum(syncedmem_status_t (*function)(const syncedmem_blob_t*, std::int32_t, double*), syncedmem_array_t array) const {
    double sum = 0;
    check(function(get(), array, &sum));
    return static_cast<Dtype>(sum);
  }

  /// An offset that is not past the end.
  int element(int offset) const {
    if (offset >= count_) {
      refuse("Blob: element " + std::to_string(offset) + " does not exist in a blob of shape " + shape_string() +
             "; pass indices below the lengths of their axes");
    }
    return offset;
  }

  /// The host side for writing all elements. Memory beyond them is kept.
  Dtype* to_fill(const std::shared_ptr<SyncedMemory>& memory) const {
    return memory->size() == static_cast<std::size_t>(count_) * sizeof(Dtype) ? memory->template overwrite_cpu_data<Dtype>()
                                                                              : memory->template mutable_cpu_data<Dtype>();
  }

  template <typename Shape>
  static Dims dims(const Shape& shape) {
    Dims dims;
    for (int axis = 0; axis < shape.dim_size(); ++axis) dims.push_back(shape.dim(axis));
    return dims;
  }

  template <typename Proto>
  static bool is_legacy(const Proto& proto) {
    return proto.has_num() || proto.has_channels() || proto.has_height() || proto.has_width();
  }

  template <typename Proto>
  static Dims dims_of(const Proto& proto) {
    if (is_legacy(proto)) return Dims{proto.num(), proto.channels(), proto.height(), proto.width()};
    return dims(proto.shape());
  }

  template <typename Proto>
  void write(Proto* proto, const float* data, const float* diff) const {
    for (int i = 0; i < count_; ++i) proto->add_data(data[i]);
    for (int i = 0; diff && i < count_; ++i) proto->add_diff(diff[i]);
  }

  template <typename Proto>
  void write(Proto* proto, const double* data, const double* diff) const {
    for (int i = 0; i < count_; ++i) proto->add_double_data(data[i]);
    for (int i = 0; diff && i < count_; ++i) proto->add_double_diff(diff[i]);
  }

  std::unique_ptr<syncedmem_blob_t, Destroy> blob_;
  std::vector<int> shape_;
  int count_;
  std::shared_ptr<SyncedMemory> memories_[2];
};

/// Number of calls that computed on the host because there was no cuBLAS, though the array was at the device.
inline std::uint64_t blobs_computed_on_host() { return answer_of(syncedmem_blob_computed_on_host); }

}  // namespace syncedmem

#endif  // SYNCEDMEM_BLOB_HPP
