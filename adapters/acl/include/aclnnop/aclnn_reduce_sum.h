/* aclnn_reduce_sum.h - The sum over `dims`; over all if it is empty. */
#ifndef OPDUMP_ACLNNOP_REDUCE_SUM_H
#define OPDUMP_ACLNNOP_REDUCE_SUM_H

#include <aclnn/aclnn_base.h>

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnReduceSumGetWorkspaceSize(const aclTensor* self, const aclIntArray* dims,
                                                               bool keepDims, aclDataType dtype,
                                                               aclTensor* out, uint64_t* workspaceSize,
                                                               aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnReduceSum(void* workspace, uint64_t workspaceSize,
                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNNOP_REDUCE_SUM_H */
