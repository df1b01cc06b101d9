// The part of NCCL that Caffe uses, for devices of one process; collective.cpp has the functions.
#ifndef HOST_CUDA_NCCL_H
#define HOST_CUDA_NCCL_H

#include "cuda_runtime.h"

typedef enum { ncclSuccess = 0, ncclUnhandledCudaError = 1, ncclInvalidUsage = 5 } ncclResult_t;
typedef enum { ncclFloat = 7, ncclDouble = 8 } ncclDataType_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;
typedef struct ncclComm* ncclComm_t;
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

extern "C" {
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* member, int count, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitAll(ncclComm_t* members, int count, const int* devices);
ncclResult_t ncclCommDestroy(ncclComm_t member);
ncclResult_t ncclBcast(void* data, size_t count, ncclDataType_t type, int root, ncclComm_t member, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t member,
                           cudaStream_t stream);
const char* ncclGetErrorString(ncclResult_t result);
}

#endif
