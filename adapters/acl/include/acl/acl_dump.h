/* acl_dump.h - AscendCL's dump data for the program itself, and where they lie. */
#ifndef OPDUMP_ACL_DUMP_H
#define OPDUMP_ACL_DUMP_H

#include "acl_base.h"

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
  uint8_t dataBuf[0];
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

/* The directory of the configuration for dumps of this kind; NULL if there are none. */
ACL_FUNC_VISIBILITY const char* acldumpGetPath(acldumpType dumpType);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACL_DUMP_H */
