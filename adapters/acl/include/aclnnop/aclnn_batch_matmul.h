/* aclnn_batch_matmul.h - The products of two batches of matrices. */
#ifndef OPDUMP_ACLNNOP_BATCH_MATMUL_H
#define OPDUMP_ACLNNOP_BATCH_MATMUL_H

#include <aclnn/aclnn_base.h>

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnBatchMatMulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2,
                                                                 aclTensor* out, int8_t cubeMathType,
                                                                 uint64_t* workspaceSize,
                                                                 aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnBatchMatMul(void* workspace, uint64_t workspaceSize,
                                                 aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNNOP_BATCH_MATMUL_H */
