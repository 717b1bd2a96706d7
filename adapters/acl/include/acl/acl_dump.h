/* acl_dump.h - AscendCL's dump data for the program itself, and where they lie. */
#ifndef OPDUMP_ACL_DUMP_H
#define OPDUMP_ACL_DUMP_H

#include "acl_base.h"
#include "acl_op.h" /* aclopStartDumpArgs: CANN's releases have it in either */

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_DUMP_MAX_FILE_PATH_LENGTH 4096

typedef struct acldumpChunk {
  char fileName[ACL_DUMP_MAX_FILE_PATH_LENGTH]; /* absolute */
  uint32_t bufLen;                              /* bytes of dataBuf */
  uint32_t isLastChunk;
  int64_t offset; /* in the file; -1: at its end */
  int32_t flag;
  __extension__ uint8_t dataBuf[0];
} acldumpChunk;

typedef enum acldumpType {
  AIC_ERR_BRIEF_DUMP = 1,
  AIC_ERR_NORM_DUMP = 2,
  AIC_ERR_DETAIL_DUMP = 3,
  DATA_DUMP = 4,
  OVERFLOW_DUMP = 5
} acldumpType;

/* Takes the dump files instead of the disk. `len` is sizeof(acldumpChunk) + bufLen; returns 0, anything else
 * ends the dump. `flag` must be 0. */
ACL_FUNC_VISIBILITY aclError acldumpRegCallback(int32_t (*const messageCallback)(const acldumpChunk*,
                                                                                 int32_t),
                                                int32_t flag);
ACL_FUNC_VISIBILITY void acldumpUnregCallback(void);

/* The absolute path below which dumps of this kind are written, those of the calling thread's device where
 * that matters; NULL if there are none. Valid until the thread's next call. */
ACL_FUNC_VISIBILITY const char* acldumpGetPath(acldumpType dumpType);

#define ACL_DUMP_MAX_SHAPE_NUM 25

typedef enum acldumpTensorType {
  ACL_DUMP_TENSOR_INPUT = 0,
  ACL_DUMP_TENSOR_OUTPUT = 1,
  ACL_DUMP_TENSOR_WORKSPACE = 2
} acldumpTensorType;

typedef enum acldumpTensorAddressType {
  ACL_DUMP_ADDR_PTR = 0,
  ACL_DUMP_ADDR_PTR_PTR = 1,
  ACL_DUMP_ADDR_RAW = 2
} acldumpTensorAddressType;

typedef enum acldumpTensorPlacement {
  ACL_DUMP_PLACEMENT_DEVICE = 0,
  ACL_DUMP_PLACEMENT_HOST = 1,
  ACL_DUMP_PLACEMENT_END = 2
} acldumpTensorPlacement;

typedef struct acldumpTensorInfo {
  acldumpTensorType type;
  size_t tensorSize; /* in bytes, more than 0 */
  int32_t format;    /* aclFormat */
  int32_t dataType;  /* aclDataType */
  int64_t* tensorAddr;
  acldumpTensorAddressType addrType; /* must be ACL_DUMP_ADDR_RAW */
  acldumpTensorPlacement placement;  /* must be ACL_DUMP_PLACEMENT_DEVICE: memory of the program */
  uint32_t argsOffset;               /* not used */
  uint32_t shapeNum, originShapeNum; /* dimensions, at most ACL_DUMP_MAX_SHAPE_NUM */
  uint64_t shape[ACL_DUMP_MAX_SHAPE_NUM];
  uint64_t originShape[ACL_DUMP_MAX_SHAPE_NUM]; /* before the device changed the format */
} acldumpTensorInfo;

/* Saves tensors of the program where the exception dump saves those of operators, in a file
 * "{fileName}.custom.{local time to the millisecond}" of the same form. `fileName` is relative and may not
 * have a ".."; `userTag` becomes an attribute of the file, and may be NULL. 500001 (ACL_ERROR_FAILURE)
 * without an exception dump. */
ACL_FUNC_VISIBILITY aclError acldumpSaveExceptionInfo(const char* fileName, const char* userTag,
                                                      const acldumpTensorInfo* tensors, size_t tensorCount);

/* The directory where these files lie, with a slash at its end. `maxLen` is the size of `path`. 500001
 * (ACL_ERROR_FAILURE) without an exception dump. */
ACL_FUNC_VISIBILITY aclError acldumpGetExceptionInfoPath(char* path, size_t maxLen);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACL_DUMP_H */
