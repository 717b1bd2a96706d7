/* aclnn_base.h - what every program that calls aclnnXxx includes. */
#ifndef OPDUMP_ACLNN_BASE_H
#define OPDUMP_ACLNN_BASE_H

#include "acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In place of aclInit, in programs that call nothing but single operators: configPath is an acl.json, or
 * NULL. Nothing happens after aclInit. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
/* Ends what aclnnInit began. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNN_BASE_H */
