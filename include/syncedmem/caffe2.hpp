/*
 * Caffe2's storage for C++11 and later, over syncedmem_caffe2.h. SPDX-License-Identifier: BSD-2-Clause
 *
 * The names and rules of Caffe2 v0.8.1, without its faults: tensors, blobs of any type, workspaces of named blobs. Code
 * written for Caffe2 includes compat.hpp instead, which has the classes in namespace caffe2, and its macros.
 *
 *     syncedmem::caffe2::Workspace ws;
 *     auto* weights = ws.CreateBlob("weights")->GetMutable<syncedmem::caffe2::TensorCPU>();
 *     weights->Resize(2, 3);
 *     float* w = weights->mutable_data<float>();   // zeros
 *
 * Every failure throws EnforceNotMet, or the exception that a constructor of the caller's own type threw. Const functions of a tensor or
 * blob may run on many threads at once, others need it alone; a workspace is safe from all threads.
 */

#ifndef SYNCEDMEM_CAFFE2_HPP
#define SYNCEDMEM_CAFFE2_HPP

#include "caffe2/allocator.hpp"
#include "caffe2/blob.hpp"
#include "caffe2/context.hpp"
#include "caffe2/error.hpp"
#include "caffe2/tensor.hpp"
#include "caffe2/typeid.hpp"
#include "caffe2/workspace.hpp"

#endif  // SYNCEDMEM_CAFFE2_HPP
