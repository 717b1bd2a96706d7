/* aclnn_log_softmax.h - The logarithm of the softmax along `dim`. */
#ifndef OPDUMP_ACLNNOP_LOG_SOFTMAX_H
#define OPDUMP_ACLNNOP_LOG_SOFTMAX_H

#include <aclnn/aclnn_base.h>

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnLogSoftmaxGetWorkspaceSize(const aclTensor* self, int64_t dim,
                                                                aclTensor* out, uint64_t* workspaceSize,
                                                                aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnLogSoftmax(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNNOP_LOG_SOFTMAX_H */
