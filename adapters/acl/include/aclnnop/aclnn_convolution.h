/* aclnn_convolution.h - A convolution of one to three dimensions, or a transposed one. `bias` may be NULL. */
#ifndef OPDUMP_ACLNNOP_CONVOLUTION_H
#define OPDUMP_ACLNNOP_CONVOLUTION_H

#include <aclnn/aclnn_base.h>

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnConvolutionGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* bias, const aclIntArray* stride,
    const aclIntArray* padding, const aclIntArray* dilation, bool transposed,
    const aclIntArray* outputPadding, const int64_t groups, aclTensor* output, int8_t cubeMathType,
    uint64_t* workspaceSize, aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnConvolution(void* workspace, uint64_t workspaceSize,
                                                 aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_ACLNNOP_CONVOLUTION_H */
