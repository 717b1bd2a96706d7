/* aclnn_mm.h - The product of two matrices. */
#ifndef OPDUMP_ACLNNOP_MM_H
#define OPDUMP_ACLNNOP_MM_H

#include <aclnn/aclnn_base.h>

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnMmGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2,
                                                        aclTensor* out, int8_t cubeMathType,
                                                        uint64_t* workspaceSize, aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnMm(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNNOP_MM_H */
