/*
 * Part of syncedmem/caffe2.hpp: tensors. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_TENSOR_HPP
#define SYNCEDMEM_CAFFE2_TENSOR_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "context.hpp"
#include "error.hpp"
#include "typeid.hpp"

SYNCEDMEM_CAFFE2_BEGIN

inline int canonical_axis_index_(int axis_index, int ndims) {
  if (axis_index < -ndims || axis_index >= ndims) {
    detail::refuse("axis " + std::to_string(axis_index) + " of a tensor with " + std::to_string(ndims) +
                   " dimensions; pass one from " + std::to_string(-ndims) + " to " + std::to_string(ndims - 1));
  }
  return axis_index < 0 ? axis_index + ndims : axis_index;
}

namespace detail {

/// The product of the dimensions from `begin` to the one before `end`.
inline TIndex product(const std::vector<TIndex>& dims, int begin, int end) {
  if (begin < 0 || end > static_cast<int>(dims.size())) refuse("there is no such dimension; pass at most ndim()");
  TIndex product = 1;
  for (int axis = begin; axis < end; ++axis) product *= dims[static_cast<std::size_t>(axis)];
  return product;
}

/// The dimensions as text, such as "2,3,".
inline std::string text_of(const std::vector<TIndex>& dims) {
  std::string text;
  for (const TIndex dim : dims) text += std::to_string(dim) + ",";
  return text;
}

/// The vector of dimensions that `Tensor::dims` refers to. It belongs to the tensor, and follows changes by any language.
class Dims {
 public:
  static const std::vector<TIndex>& of(syncedmem_tensor_t* tensor) {
    void* attached = nullptr;
    check(syncedmem_tensor_attach(tensor, nullptr, nullptr, nullptr, &attached));
    if (attached == nullptr) {
      std::unique_ptr<Dims> made(new Dims());
      check(syncedmem_tensor_attach(tensor, made.get(), end, nullptr, &attached));
      if (attached == made.get()) made.release();
    }
    return static_cast<Dims*>(attached)->as_of(tensor);
  }

 private:
  static void end(void* dims, void*) { delete static_cast<Dims*>(dims); }

  const std::vector<TIndex>& as_of(syncedmem_tensor_t* tensor) {
    syncedmem_tensor_info_t now = syncedmem_tensor_info_t();
    check(syncedmem_tensor_info(tensor, &now));
    if (changes_.load(std::memory_order_acquire) != now.changes) {
      // Several threads may read a tensor whose shape has changed.
      const std::lock_guard<std::mutex> alone(mutex_);
      if (changes_.load(std::memory_order_relaxed) != now.changes) {
        dims_.assign(now.dims, now.dims + now.ndim);
        changes_.store(now.changes, std::memory_order_release);
      }
    }
    return dims_;
  }

  std::vector<TIndex> dims_;
  /// Number of the shape's changes that `dims_` has seen.
  std::atomic<std::uint64_t> changes_{0};
  std::mutex mutex_;
};

}  // namespace detail

/// The products of all dimensions from `k` on, and of those before it.
inline TIndex size_from_dim_(int k, const std::vector<TIndex>& dims) {
  return detail::product(dims, k, static_cast<int>(dims.size()));
}
inline TIndex size_to_dim_(int k, const std::vector<TIndex>& dims) { return detail::product(dims, 0, k); }

inline std::vector<TIndex> ToVectorTIndex(const std::vector<int>& dims) { return std::vector<TIndex>(dims.begin(), dims.end()); }

/// Items of one type in contiguous memory on the side of `Context`, allocated by mutable_data. The object is just its handle.
template <class Context>
class Tensor {
 public:
  /// A tensor without a shape: size() is -1.
  Tensor() : handle_(nullptr) { detail::check(syncedmem_tensor_create(Context::kSide, &handle_)); }
  explicit Tensor(const std::vector<TIndex>& dims) : Tensor() { Resize(dims); }
  explicit Tensor(const std::vector<int>& dims) : Tensor() { Resize(dims); }

  /// A copy of shape, type and items.
  Tensor(const Tensor& source) : Tensor() { CopyFrom(source); }
  template <class SourceContext>
  explicit Tensor(const Tensor<SourceContext>& source) : Tensor() {
    CopyFrom(source);
  }
  template <class SourceContext, class ContextForCopy>
  Tensor(const Tensor<SourceContext>& source, ContextForCopy* context) : Tensor() {
    CopyFrom(source, context);
  }
  Tensor(Tensor&& source) : Tensor() { swap(source); }

  template <typename T>
  Tensor(const std::vector<TIndex>& dims, const std::vector<T>& values, Context* context) : Tensor() {
    Resize(dims);
    if (static_cast<TIndex>(values.size()) != size()) {
      detail::refuse(std::to_string(values.size()) + " values for a tensor of " + std::to_string(size()) +
                     " items; pass as many");
    }
    context->template Copy<T, CPUContext, Context>(values.size(), values.data(), mutable_data<T>());
  }
  template <typename T, typename = typename std::enable_if<std::is_scalar<T>::value>::type>
  Tensor(const T& value, Context* context) : Tensor(std::vector<TIndex>(), std::vector<T>{value}, context) {}

  ~Tensor() noexcept { syncedmem_tensor_destroy(handle_); }

  Tensor& operator=(const Tensor&) = delete;

  /// Copies shape, type and items, from the tensor of either side.
  template <class SourceContext>
  void CopyFrom(const Tensor<SourceContext>& source) {
    detail::check(syncedmem_tensor_copy_from(handle_, source.c()));
  }
  template <class SourceContext, class ContextForCopy>
  void CopyFrom(const Tensor<SourceContext>& source, ContextForCopy*) {
    CopyFrom(source);
  }

  /// Grows the first dimension by `num` and keeps the items; memory grows by at least `growth_percent`.
  template <class ContextForCopy>
  void Extend(TIndex num, float growth_percent, ContextForCopy*) {
    detail::check(syncedmem_tensor_extend(handle_, num, growth_percent));
  }

  /// Allocates memory for the items of the dimensions `capacity`, and keeps shape and items.
  template <class T, class ContextForCopy>
  void Reserve(const std::vector<T>& capacity, ContextForCopy*) {
    const std::vector<TIndex> dims(capacity.begin(), capacity.end());
    detail::check(syncedmem_tensor_reserve(handle_, ndim_of(dims), dims.data()));
  }

  /// Cuts the first dimension. Memory and items stay where they are.
  void Shrink(TIndex outer_dim) { detail::check(syncedmem_tensor_shrink(handle_, outer_dim)); }

  /// Sets other dimensions; without any the tensor is a scalar. Memory is freed if it is too small, or by the FLAGS of compat.hpp.
  template <typename T>
  void Resize(const std::vector<T>& dims) {
    const std::vector<TIndex> wide(dims.begin(), dims.end());
    detail::check(syncedmem_tensor_resize(handle_, ndim_of(wide), wide.data()));
  }
  template <typename... Dims>
  void Resize(Dims... dims) {
    // One more item, because no array is empty.
    const TIndex all[] = {static_cast<TIndex>(dims)..., 0};
    detail::check(syncedmem_tensor_resize(handle_, static_cast<std::int32_t>(sizeof...(dims)), all));
  }
  template <class OtherContext>
  void ResizeLike(const Tensor<OtherContext>& source) {
    Resize(source.dims());
  }

  /// Sets other dimensions of the same number of items.
  void Reshape(const std::vector<TIndex>& dims) {
    detail::check(syncedmem_tensor_reshape(handle_, ndim_of(dims), dims.data()));
  }
  void Reshape(const std::vector<int>& dims) { Reshape(ToVectorTIndex(dims)); }

  /// Releases the memory, and keeps shape and type.
  void FreeMemory() { detail::check(syncedmem_tensor_free_memory(handle_)); }

  /// Exchanges everything with another tensor.
  void swap(Tensor& other) { detail::check(syncedmem_tensor_swap(handle_, other.handle_)); }

  /// Uses the memory of another tensor with as many items.
  void ShareData(const Tensor& source) { detail::check(syncedmem_tensor_share_data(handle_, source.c())); }

  /// Uses the caller's memory, of `capacity` bytes or, if that is 0, as many as the items need. `deleter` is called with it
  /// once no tensor uses it.
  ///
  /// Compat: Caffe2's operators pass a number of items as `capacity`. A capacity below the items' bytes, but not below their
  /// number, counts as 0.
  template <typename T, typename Deleter = std::nullptr_t>
  void ShareExternalPointer(T* source, std::size_t capacity = 0, Deleter deleter = nullptr) {
    ShareExternalPointer(source, TypeMeta::Make<T>(), capacity, std::move(deleter));
  }
  template <typename Deleter = std::nullptr_t>
  void ShareExternalPointer(void* source, const TypeMeta& meta, std::size_t capacity = 0, Deleter deleter = nullptr) {
    const std::size_t items = static_cast<std::size_t>(std::max<TIndex>(size(), 0));
    if (items <= capacity && capacity < items * meta.itemsize()) capacity = 0;
    std::unique_ptr<MemoryDeleter> kept(new MemoryDeleter(std::move(deleter)));
    const bool has_end = static_cast<bool>(*kept);
    detail::check(syncedmem_tensor_share_external(handle_, source, &meta.c(), capacity,
                                                  has_end ? call_deleter : nullptr, has_end ? kept.get() : nullptr));
    if (has_end) kept.release();
  }

  /// Whether the memory came from another tensor or from the caller.
  bool shares_data() const { return info().shares_data; }

  const void* raw_data() const {
    return detail::answer<const void*>(syncedmem_tensor_data, handle_, nullptr);
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(detail::answer<const void*>(syncedmem_tensor_data, handle_, &TypeMeta::c<T>()));
  }

  /// The items, for reading and writing. Allocates memory if there is none for items of the type; null for size 0.
  void* raw_mutable_data(const TypeMeta& meta) { return mutable_data(&meta.c()); }
  void* raw_mutable_data() { return mutable_data(nullptr); }
  template <typename T>
  T* mutable_data() {
    return static_cast<T*>(mutable_data(&TypeMeta::c<T>()));
  }

  int ndim() const { return info().ndim; }
  /// The number of items; -1 without a shape.
  TIndex size() const { return info().size; }
  std::size_t itemsize() const { return info().meta.itemsize; }
  std::size_t nbytes() const { return info().nbytes; }
  std::size_t capacity_nbytes() const { return info().capacity_nbytes; }
  const std::vector<TIndex>& dims() const { return detail::Dims::of(handle_); }
  TIndex size_from_dim(int k) const { return size_from_dim_(k, dims()); }
  TIndex size_to_dim(int k) const { return size_to_dim_(k, dims()); }
  /// The product of the dimensions between the two.
  TIndex size_between_dim(int k, int l) const { return detail::product(dims(), (k < l ? k : l) + 1, k < l ? l : k); }
  int canonical_axis_index(int axis_index) const { return canonical_axis_index_(axis_index, ndim()); }
  TIndex dim(int i) const { return detail::product(dims(), i, i + 1); }
  int dim32(int i) const {
    if (dim(i) > std::numeric_limits<int>::max()) detail::refuse("the dimension is no int; ask for dim");
    return static_cast<int>(dim(i));
  }

  template <typename T>
  bool IsType() const {
    return meta().template Match<T>();
  }
  TypeMeta meta() const { return TypeMeta(info().meta); }

  std::string DebugString() const {
    std::string text = "A Tensor of item size " + std::to_string(itemsize());
    return text + " and type " + meta().name() + " and dimension (" + detail::text_of(dims()) + ").";
  }

  /// The handle, for the C API. This tensor still owns it.
  syncedmem_tensor_t* c() const noexcept { return handle_; }

 private:
  static std::int32_t ndim_of(const std::vector<TIndex>& dims) {
    // The C API refuses so many dimensions too.
    return static_cast<std::int32_t>(std::min<std::size_t>(dims.size(), std::numeric_limits<std::int32_t>::max()));
  }

  static void call_deleter(void* pointer, void* context) {
    const std::unique_ptr<MemoryDeleter> deleter(static_cast<MemoryDeleter*>(context));
    (*deleter)(pointer);
  }

  syncedmem_tensor_info_t info() const {
    return detail::answer<syncedmem_tensor_info_t>(syncedmem_tensor_info, handle_);
  }

  void* mutable_data(const syncedmem_typemeta_t* meta) {
    return detail::answer<void*>(syncedmem_tensor_mutable_data, handle_, meta);
  }

  syncedmem_tensor_t* handle_;
};

typedef Tensor<CPUContext> TensorCPU;
typedef Tensor<CUDAContext> TensorCUDA;

constexpr int k_limit_default_ = 1000;

/// Prints tensors to a file, or, without the name of one, to standard error: at most `limit` items of each.
class TensorPrinter {
 public:
  explicit TensorPrinter(const std::string& tensor_name = "", const std::string& file_name = "", int limit = k_limit_default_)
      : tensor_name_(tensor_name), limit_(limit == 0 ? k_limit_default_ : limit) {
    if (file_name.empty()) return;
    file_.open(file_name);
    if (!file_) detail::refuse("TensorPrinter: the file " + file_name + " cannot be written; pass the name of one that can");
  }

  template <class T>
  void Print(const TensorCPU& tensor) {
    out() << MetaStr(tensor);
    const T* const items = tensor.data<T>();
    for (TIndex at = 0; at < std::min<TIndex>(tensor.size(), limit_); ++at) out() << (at == 0 ? "" : ",") << items[at];
    out() << std::endl;
  }
  template <class Context>
  void PrintMeta(const Tensor<Context>& tensor) {
    out() << MetaStr(tensor) << std::endl;
  }
  template <class Context>
  std::string MetaStr(const Tensor<Context>& tensor) {
    return "Tensor " + tensor_name_ + " of type " + tensor.meta().name() + ". Dims: (" + detail::text_of(tensor.dims()) + "): ";
  }

 private:
  std::ostream& out() { return file_.is_open() ? static_cast<std::ostream&>(file_) : std::cerr; }

  std::string tensor_name_;
  int limit_;
  std::ofstream file_;
};

namespace detail {
/// The value of a blob that holds a tensor is a pointer to the tensor's handle, in each language.
template <class Context>
struct known<Tensor<Context>> : std::false_type {
  static void write(syncedmem_typemeta_t* meta) { check(syncedmem_tensor_typemeta(Context::kSide, meta)); }
};
}  // namespace detail

SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_TENSOR_HPP
