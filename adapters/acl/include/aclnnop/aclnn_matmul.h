/* aclnn_matmul.h - The product of matrices, as of torch.matmul. cubeMathType (0 to 3) does not matter here:
 * sums are float32. */
#ifndef OPDUMP_ACLNNOP_MATMUL_H
#define OPDUMP_ACLNNOP_MATMUL_H

#include <aclnn/aclnn_base.h>

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnMatmulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2,
                                                            aclTensor* out, int8_t cubeMathType,
                                                            uint64_t* workspaceSize,
                                                            aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnMatmul(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                            aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNNOP_MATMUL_H */
