/* acl.h - AscendCL: all of it but acl_dump.h. */
#ifndef OPDUMP_ACL_ACL_H
#define OPDUMP_ACL_ACL_H

#include "acl_mdl.h"
#include "acl_op.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Once for each program, before all else. configPath: acl.json, whose object "dump" says what to dump; NULL:
 * nothing. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
/* Ends dumping. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACL_ACL_H */
