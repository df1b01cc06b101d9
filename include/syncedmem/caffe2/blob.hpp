/*
 * Part of syncedmem/caffe2.hpp: blobs. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_BLOB_HPP
#define SYNCEDMEM_CAFFE2_BLOB_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "tensor.hpp"
#include "typeid.hpp"

SYNCEDMEM_CAFFE2_BEGIN

/// One value of any type.
class Blob {
 public:
  typedef void (*DestroyCall)(void*);

  /// An empty blob, which has no handle until it gets a value.
  Blob() noexcept : handle_(nullptr), is_of_workspace_(false) {}
  Blob(Blob&& other) noexcept : Blob() { swap(other); }
  Blob& operator=(Blob&& other) noexcept {
    Blob ends_here(std::move(other));
    swap(ends_here);
    return *this;
  }
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;
  ~Blob() {
    if (!is_of_workspace_) syncedmem_typed_blob_destroy(handle_);
  }

  template <class T>
  bool IsType() const {
    return meta().template Match<T>();
  }
  TypeMeta meta() const {
    syncedmem_typemeta_t meta = syncedmem_typemeta_t();
    if (handle_ != nullptr) detail::check(syncedmem_typed_blob_meta(handle_, &meta));
    return TypeMeta(meta);
  }
  const char* TypeName() const { return meta().name(); }

  /// The value. It has to be a `T`.
  template <class T>
  const T& Get() const {
    if (!IsType<T>()) {
      detail::refuse(std::string("the blob holds ") + TypeName() + ", and " + TypeMeta::Name<T>() +
                     " was asked for; ask for the type that it holds, or for GetMutable");
    }
    return *static_cast<const T*>(GetRaw());
  }
  const void* GetRaw() const { return raw(); }
  void* GetRaw() { return raw(); }

  /// The value, or a new `T` in the place of a value of another type.
  template <class T>
  T* GetMutable(bool* is_new_object = nullptr) {
    const bool is_new = !IsType<T>();
    if (is_new_object != nullptr) *is_new_object = is_new;
    return is_new ? Reset(new T()) : static_cast<T*>(raw());
  }

  /// Takes ownership of a value made by `new`, and ends the old one.
  template <class T>
  T* Reset(T* allocated) {
    std::unique_ptr<T> kept(allocated);
    if (raw() == allocated) Release();
    set(allocated, TypeMeta::Make<T>(), destroy<T>);
    return kept.release();
  }
  void* Reset(void* allocated, const TypeMeta& meta, const DestroyCall& destroy) {
    if (raw() == allocated) Release();
    set(allocated, meta, destroy);
    return allocated;
  }
  void Reset() {
    if (handle_ != nullptr) detail::check(syncedmem_typed_blob_reset(handle_, nullptr, nullptr, nullptr, nullptr));
  }

  /// Refers to a value of the caller's, who ends it when the blob no longer uses it.
  template <class T>
  typename std::remove_const<T>::type* ShareExternal(typename std::remove_const<T>::type* value) {
    ShareExternal(value, TypeMeta::Make<typename std::remove_const<T>::type>());
    return value;
  }
  void* ShareExternal(void* value, const TypeMeta& meta) {
    set(value, meta, nullptr);
    return value;
  }

  /// Leaves the value's end to the caller; the blob still refers to it. Returns the function that ends it: null for a value
  /// that the blob did not own, or that another language made.
  DestroyCall Release() {
    void* value = nullptr;
    void* deleter = nullptr;
    void* context = nullptr;
    if (handle_ != nullptr) detail::check(syncedmem_typed_blob_release(handle_, &value, &deleter, &context));
    const bool is_of_cpp = deleter == reinterpret_cast<void*>(&call_destroy);
    return is_of_cpp ? reinterpret_cast<DestroyCall>(context) : nullptr;
  }

  void swap(Blob& other) {
    if (!is_of_workspace_ && !other.is_of_workspace_) {
      std::swap(handle_, other.handle_);
    } else {
      detail::check(syncedmem_typed_blob_swap(made(), other.made()));
    }
  }

  /// The handle, for the C API. This blob still owns it.
  syncedmem_typed_blob_t* c() { return made(); }

 private:
  friend class Workspace;

  /// The C++ object of a workspace's blob: the same one as long as the handle has references.
  static Blob* of(syncedmem_typed_blob_t* handle) {
    void* attached = nullptr;
    detail::check(syncedmem_typed_blob_attach(handle, nullptr, nullptr, nullptr, &attached));
    if (attached == nullptr) {
      std::unique_ptr<Blob> made(new Blob());
      made->handle_ = handle;
      made->is_of_workspace_ = true;
      detail::check(syncedmem_typed_blob_attach(handle, made.get(), end, nullptr, &attached));
      if (attached == made.get()) made.release();
    }
    return static_cast<Blob*>(attached);
  }
  static void end(void* blob, void*) { delete static_cast<Blob*>(blob); }

  syncedmem_typed_blob_t* made() {
    if (handle_ == nullptr) detail::check(syncedmem_typed_blob_create(&handle_));
    return handle_;
  }

  void* raw() const {
    void* value = nullptr;
    if (handle_ != nullptr) detail::check(syncedmem_typed_blob_get(handle_, nullptr, &value));
    return value;
  }

  void set(void* value, const TypeMeta& meta, DestroyCall destroy) {
    // The deleter's context is the function itself.
    detail::check(syncedmem_typed_blob_reset(made(), value, &meta.c(), destroy == nullptr ? nullptr : call_destroy,
                                             reinterpret_cast<void*>(destroy)));
  }
  static void call_destroy(void* value, void* context) { reinterpret_cast<DestroyCall>(context)(value); }
  template <class T>
  static void destroy(void* value) {
    delete static_cast<T*>(value);
  }

  syncedmem_typed_blob_t* handle_;
  /// True if the workspace's blob owns this object, and not the other way round.
  bool is_of_workspace_;
};

inline void swap(Blob& a, Blob& b) { a.swap(b); }

SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_BLOB_HPP
