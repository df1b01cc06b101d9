/*
 * Part of syncedmem/caffe2.hpp: workspaces. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_WORKSPACE_HPP
#define SYNCEDMEM_CAFFE2_WORKSPACE_HPP

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blob.hpp"
#include "error.hpp"

SYNCEDMEM_CAFFE2_BEGIN

/// Named blobs, over those of a parent, which lives at least as long. Any number of threads may use a workspace at once.
///
/// A `Blob*` is valid until the blob is removed, or its workspace ends in every language; HoldBlob keeps it beyond that.
class Workspace {
 public:
  Workspace() : Workspace(".") {}
  explicit Workspace(const std::string& root_folder) : Workspace(root_folder, nullptr) {}
  explicit Workspace(const Workspace* shared) : Workspace(".", shared) {}
  Workspace(const std::string& root_folder, const Workspace* shared) : root_folder_(root_folder), handle_(nullptr) {
    detail::check(syncedmem_workspace_create(shared == nullptr ? nullptr : shared->c(), &handle_));
  }
  /// A workspace that sees only those blobs of `shared`: from the name here to the name there.
  Workspace(const Workspace* shared, const std::unordered_map<std::string, std::string>& forwarded_blobs) : Workspace() {
    AddBlobMapping(shared, forwarded_blobs);
  }
  /// A reference to a workspace that C or Python has made.
  explicit Workspace(syncedmem_workspace_t* workspace) : root_folder_("."), handle_(workspace) {
    detail::check(syncedmem_workspace_retain(workspace));
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { syncedmem_workspace_destroy(handle_); }

  const std::string& RootFolder() const { return root_folder_; }

  /// The blob of that name, here or in a parent, or a new one here.
  Blob* CreateBlob(const std::string& name) {
    return cpp_object(detail::answer<syncedmem_typed_blob_t*>(syncedmem_workspace_create_blob, handle_, name.c_str()));
  }
  /// The blob of that name here, or a new one, which hides that of a parent.
  Blob* CreateLocalBlob(const std::string& name) {
    return cpp_object(detail::answer<syncedmem_typed_blob_t*>(syncedmem_workspace_create_local_blob, handle_, name.c_str()));
  }

  /// The blob of that name, here or in a parent; null if there is none.
  Blob* GetBlob(const std::string& name) { return cpp_object(found(name)); }
  const Blob* GetBlob(const std::string& name) const { return cpp_object(found(name)); }
  bool HasBlob(const std::string& name) const {
    return detail::answer<bool>(syncedmem_workspace_has_blob, handle_, name.c_str());
  }
  /// As GetBlob, but the blob lives as long as the pointer, even if it is removed.
  std::shared_ptr<Blob> HoldBlob(const std::string& name) const {
    const std::shared_ptr<syncedmem_typed_blob_t> held(found(name), syncedmem_typed_blob_destroy);
    return held ? std::shared_ptr<Blob>(held, Blob::of(held.get())) : nullptr;
  }

  /// Removes a blob of this workspace; false if it has none of that name.
  bool RemoveBlob(const std::string& name) {
    return detail::answer<bool>(syncedmem_workspace_remove_blob, handle_, name.c_str());
  }

  /// Gives a blob of this workspace another name, which is visible nowhere.
  Blob* RenameBlob(const std::string& old_name, const std::string& new_name) {
    return cpp_object(detail::answer<syncedmem_typed_blob_t*>(syncedmem_workspace_rename_blob, handle_, old_name.c_str(), new_name.c_str()));
  }

  /// Makes blobs of `parent` visible here: from the name here to the name there.
  void AddBlobMapping(const Workspace* parent, const std::unordered_map<std::string, std::string>& forwarded_blobs,
                      bool skip_defined_blobs = false) {
    if (parent == nullptr) detail::refuse("a mapping of blobs of no workspace; pass the one that has them");
    for (const auto& each : forwarded_blobs) {
      detail::check(syncedmem_workspace_add_blob_mapping(handle_, each.first.c_str(), parent->c(), each.second.c_str(),
                                                         skip_defined_blobs));
    }
  }

  /// Names, sorted: those of this workspace, or all that are visible here, each once.
  std::vector<std::string> LocalBlobs() const { return names(true); }
  std::vector<std::string> Blobs() const { return names(false); }

  /// Bytes of the tensors' memory by name, of all that are visible here. Memory that several share counts with the first.
  std::vector<std::pair<std::string, std::size_t>> BlobSizes() const { return seen(false); }

  /// Prints shape, bytes and share of this workspace's own tensors to standard error, the largest first.
  void PrintBlobSizes() const {
    std::vector<Size> blobs = seen(true);
    std::stable_sort(blobs.begin(), blobs.end(), [](const Size& a, const Size& b) { return a.second > b.second; });
    std::size_t total = 0;
    for (const Size& blob : blobs) total += blob.second;
    std::ostringstream text;
    text << "---- Workspace blobs: ----\nname;current shape;capacity bytes;percentage\n";
    for (const Size& blob : blobs) {
      const std::shared_ptr<Blob> held = HoldBlob(blob.first);
      const bool is_on_host = held && held->IsType<TensorCPU>();
      if (!is_on_host && !(held && held->IsType<TensorCUDA>())) continue;
      text << blob.first << ";" << detail::text_of(is_on_host ? held->Get<TensorCPU>().dims() : held->Get<TensorCUDA>().dims())
           << ";" << blob.second << ";" << (total == 0 ? 0.0 : 100.0 * static_cast<double>(blob.second) / static_cast<double>(total))
           << "%\n";
    }
    text << "Total;;" << total << ";100%\n";
    std::cerr << text.str();
  }

  /// The handle, for the C API. This object still owns it.
  syncedmem_workspace_t* c() const noexcept { return handle_; }

 private:
  typedef std::pair<std::string, std::size_t> Size;
  struct Seen {
    std::vector<Size> blobs;
    std::exception_ptr failure;
  };
  std::vector<Size> seen(bool local) const {
    Seen seen;
    detail::check(syncedmem_workspace_blobs(handle_, local, add, &seen));
    if (seen.failure) std::rethrow_exception(seen.failure);
    return std::move(seen.blobs);
  }
  static void add(const char* name, syncedmem_typed_blob_t*, std::size_t bytes, void* context) {
    Seen* const seen = static_cast<Seen*>(context);
    try {
      seen->blobs.emplace_back(name, bytes);
    } catch (...) {
      seen->failure = std::current_exception();
    }
  }
  std::vector<std::string> names(bool local) const {
    std::vector<std::string> names;
    for (auto& each : seen(local)) names.push_back(std::move(each.first));
    return names;
  }

  syncedmem_typed_blob_t* found(const std::string& name) const {
    return detail::answer<syncedmem_typed_blob_t*>(syncedmem_workspace_get_blob, handle_, name.c_str());
  }

  /// The C++ object of a blob. Drops the reference `blob`, because the workspace has its own.
  static Blob* cpp_object(syncedmem_typed_blob_t* blob) {
    typedef syncedmem_status_t (*End)(syncedmem_typed_blob_t*);
    const std::unique_ptr<syncedmem_typed_blob_t, End> held(blob, syncedmem_typed_blob_destroy);
    return held ? Blob::of(held.get()) : nullptr;
  }

  std::string root_folder_;
  syncedmem_workspace_t* handle_;
};

SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_WORKSPACE_HPP
