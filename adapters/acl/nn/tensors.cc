// Operators on whole tensors: products of matrices, convolutions, sums over dimensions, order.
#include <aclnnop/aclnn_addmm.h>
#include <aclnnop/aclnn_batch_matmul.h>
#include <aclnnop/aclnn_cat.h>
#include <aclnnop/aclnn_convolution.h>
#include <aclnnop/aclnn_layer_norm.h>
#include <aclnnop/aclnn_log_softmax.h>
#include <aclnnop/aclnn_matmul.h>
#include <aclnnop/aclnn_mean.h>
#include <aclnnop/aclnn_mm.h>
#include <aclnnop/aclnn_permute.h>
#include <aclnnop/aclnn_reduce_sum.h>
#include <aclnnop/aclnn_softmax.h>

#include "nn/api_call.h"

using opdump::acl::Attributes;
using opdump::acl::nn::ApiCall;
using opdump::acl::nn::prepare;
using opdump::acl::nn::Value;

namespace {

using List = std::vector<std::int64_t>;

void check_cube(ApiCall& call, std::int8_t type) {
  call.expect(type >= 0 && type <= 3, "cubeMathType is " + std::to_string(type) + "; expected 0 to 3");
}

Value multiply(ApiCall& call, const Value& a, const Value& b) {
  const aclDataType in = call.common({a, b});
  return call.node("MatMul", {call.cast(a, in), call.cast(b, in)});
}

// `rank`: that both must have; 0: any.
void matmul(ApiCall& call, const aclTensor* self, const aclTensor* other, const aclTensor* out,
            std::int8_t cube_type, std::size_t rank) {
  check_cube(call, cube_type);
  const Value a = call.read(self, "self"), b = call.read(other, "mat2");
  if (rank > 0)
    call.expect(a.rank == rank && b.rank == rank,
                "self and mat2 must have " + std::to_string(rank) + " dimensions");
  call.write(out, "out", multiply(call, a, b));
}

void addmm(ApiCall& call, const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
           const aclScalar* beta, const aclScalar* alpha, const aclTensor* out, std::int8_t cube_type) {
  check_cube(call, cube_type);
  const Value c = call.read(self, "self"), a = call.read(mat1, "mat1"), b = call.read(mat2, "mat2");
  const Value of_c = call.read(beta, "beta"), of_product = call.read(alpha, "alpha");
  const aclDataType in = call.common({a, b, c});
  const Value product = call.node(
      "Mul", {call.cast(of_product, in), call.node("MatMul", {call.cast(a, in), call.cast(b, in)})});
  call.write(out, "out",
             call.node("Add", {call.node("Mul", {call.cast(of_c, in), call.cast(c, in)}), product}));
}

struct ConvolutionArguments {
  const aclIntArray *stride, *padding, *dilation, *output_padding;
  bool transposed;
  std::int64_t groups;
};

void convolve(ApiCall& call, const aclTensor* input, const aclTensor* weight, const aclTensor* bias,
              const ConvolutionArguments& arguments, const aclTensor* output, std::int8_t cube_type) {
  check_cube(call, cube_type);
  const Value x = call.cast(call.read(input, "input"), ACL_FLOAT);
  const Value w = call.cast(call.read(weight, "weight"), ACL_FLOAT);
  const Value b = call.cast(call.read_optional(bias, "bias"), ACL_FLOAT);
  if (input) call.expect(input->format != ACL_FORMAT_NHWC, "input is NHWC; expected NCHW, NCL, NCDHW or ND");
  List pads = call.list(arguments.padding, "padding");
  const std::size_t spatial = x.rank > 2 ? x.rank - 2 : 0;
  call.expect(spatial >= 1 && spatial <= 3, "input must have three to five dimensions");
  call.expect(pads.size() == spatial || pads.size() == 2 * spatial,
              "padding must have one or two numbers for each dimension");
  if (pads.size() == spatial) {
    pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  } else {  // before and behind each dimension; ONNX wants all before, then all behind
    List sorted;
    for (std::size_t side = 0; side < 2; ++side)
      for (std::size_t i = side; i < pads.size(); i += 2) sorted.push_back(pads[i]);
    pads = sorted;
  }
  Attributes attributes{{"strides", call.list(arguments.stride, "stride")},
                        {"pads", pads},
                        {"dilations", call.list(arguments.dilation, "dilation")},
                        {"group", arguments.groups}};
  if (arguments.transposed)
    attributes["output_padding"] = call.list(arguments.output_padding, "outputPadding");
  std::vector<Value> inputs{x, w};
  if (!b.name.empty()) inputs.push_back(b);
  call.write(output, "output",
             call.node(arguments.transposed ? "ConvTranspose" : "Conv", inputs, std::move(attributes)));
}

void softmax(ApiCall& call, const char* type, const aclTensor* self, std::int64_t dim, const aclTensor* out) {
  const Value x = call.read(self, "self");
  call.write(out, "out", call.node(type, {call.cast(x, call.common_float({x}))}, {{"axis", dim}}));
}

// Reduces in the type that `dtype` is computed in.
void reduce(ApiCall& call, bool is_mean, const aclTensor* self, const aclIntArray* dims,
            const char* dims_name, bool keeps, aclDataType dtype, const aclTensor* out) {
  const Value x = call.read(self, "self");
  const List axes = call.list(dims, dims_name);
  if (out) call.expect(out->type == dtype, "out is of another type than dtype");
  Value typed = x;
  typed.type = dtype;
  const Value in = call.cast(x, is_mean ? call.common_float({typed}) : call.common({typed}));
  Attributes attributes{{"keepdims", std::int64_t{keeps}}};
  if (is_mean) {
    if (!axes.empty()) attributes["axes"] = axes;
    call.write(out, "out", call.node("ReduceMean", {in}, std::move(attributes)));
  } else {
    std::vector<Value> inputs{in};
    if (!axes.empty()) inputs.push_back(call.constant(axes));
    call.write(out, "out", call.node("ReduceSum", inputs, std::move(attributes)));
  }
}

void permute(ApiCall& call, const aclTensor* self, const aclIntArray* dims, const aclTensor* out) {
  const Value x = call.read(self, "self");
  List order = call.list(dims, "dims");
  for (std::int64_t& dim : order)
    if (dim < 0) dim += static_cast<std::int64_t>(x.rank);
  call.expect(order.size() == x.rank, "dims must have a number for each dimension of self");
  call.write(out, "out", call.node("Transpose", {x}, {{"perm", order}}));
}

void concatenate(ApiCall& call, const aclTensorList* tensors, std::int64_t dim, const aclTensor* out) {
  std::vector<Value> values = call.read(tensors, "tensors");
  if (out)
    for (Value& value : values) value = call.cast(value, out->type);
  call.write(out, "out", call.node("Concat", values, {{"axis", dim}}));
}

void normalise(ApiCall& call, const aclTensor* input, const aclIntArray* shape, const aclTensor* weight,
               const aclTensor* bias, double epsilon, const aclTensor* out, const aclTensor* mean,
               const aclTensor* deviation) {
  const Value x = call.cast(call.read(input, "input"), ACL_FLOAT);
  const List dims = call.list(shape, "normalizedShape");
  Value scale = call.cast(call.read_optional(weight, "weightOptional"), ACL_FLOAT);
  const Value shift = call.cast(call.read_optional(bias, "biasOptional"), ACL_FLOAT);
  call.expect(!dims.empty() && dims.size() <= x.rank,
              "normalizedShape must have as many dimensions as input, or fewer");
  if (scale.name.empty()) scale = call.node("Expand", {call.constant(1, ACL_FLOAT), call.constant(dims)});
  std::vector<Value> inputs{x, scale};
  if (!shift.name.empty()) inputs.push_back(shift);
  const std::vector<Value> results = call.node(
      "LayerNormalization", inputs, 3,
      {{"axis", -static_cast<std::int64_t>(dims.size())}, {"epsilon", static_cast<float>(epsilon)}});
  call.write(out, "out", results[0]);
  if (mean) call.write(mean, "meanOutOptional", results[1]);
  if (deviation) call.write(deviation, "rstdOutOptional", results[2]);
}

}  // namespace

aclnnStatus aclnnMatmulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                                        int8_t cube_type, uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnMatmul", size, executor,
                 [&](ApiCall& call) { matmul(call, self, mat2, out, cube_type, 0); });
}
OPDUMP_ACLNN_EXECUTE(aclnnMatmul)

aclnnStatus aclnnMmGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                                    int8_t cube_type, uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnMm", size, executor,
                 [&](ApiCall& call) { matmul(call, self, mat2, out, cube_type, 2); });
}
OPDUMP_ACLNN_EXECUTE(aclnnMm)

aclnnStatus aclnnBatchMatMulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                                             int8_t cube_type, uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnBatchMatMul", size, executor,
                 [&](ApiCall& call) { matmul(call, self, mat2, out, cube_type, 3); });
}
OPDUMP_ACLNN_EXECUTE(aclnnBatchMatMul)

aclnnStatus aclnnAddmmGetWorkspaceSize(const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
                                       const aclScalar* beta, const aclScalar* alpha, aclTensor* out,
                                       int8_t cube_type, uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnAddmm", size, executor,
                 [&](ApiCall& call) { addmm(call, self, mat1, mat2, beta, alpha, out, cube_type); });
}
OPDUMP_ACLNN_EXECUTE(aclnnAddmm)

aclnnStatus aclnnConvolutionGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                             const aclTensor* bias, const aclIntArray* stride,
                                             const aclIntArray* padding, const aclIntArray* dilation,
                                             bool transposed, const aclIntArray* output_padding,
                                             const int64_t groups, aclTensor* output, int8_t cube_type,
                                             uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnConvolution", size, executor, [&](ApiCall& call) {
    convolve(call, input, weight, bias, {stride, padding, dilation, output_padding, transposed, groups},
             output, cube_type);
  });
}
OPDUMP_ACLNN_EXECUTE(aclnnConvolution)

aclnnStatus aclnnSoftmaxGetWorkspaceSize(const aclTensor* self, int64_t dim, aclTensor* out, uint64_t* size,
                                         aclOpExecutor** executor) {
  return prepare("aclnnSoftmax", size, executor,
                 [&](ApiCall& call) { softmax(call, "Softmax", self, dim, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnSoftmax)

aclnnStatus aclnnLogSoftmaxGetWorkspaceSize(const aclTensor* self, int64_t dim, aclTensor* out,
                                            uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnLogSoftmax", size, executor,
                 [&](ApiCall& call) { softmax(call, "LogSoftmax", self, dim, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnLogSoftmax)

aclnnStatus aclnnReduceSumGetWorkspaceSize(const aclTensor* self, const aclIntArray* dims, bool keeps,
                                           aclDataType dtype, aclTensor* out, uint64_t* size,
                                           aclOpExecutor** executor) {
  return prepare("aclnnReduceSum", size, executor,
                 [&](ApiCall& call) { reduce(call, false, self, dims, "dims", keeps, dtype, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnReduceSum)

aclnnStatus aclnnMeanGetWorkspaceSize(const aclTensor* self, const aclIntArray* dim, bool keeps,
                                      aclDataType dtype, aclTensor* out, uint64_t* size,
                                      aclOpExecutor** executor) {
  return prepare("aclnnMean", size, executor,
                 [&](ApiCall& call) { reduce(call, true, self, dim, "dim", keeps, dtype, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnMean)

aclnnStatus aclnnPermuteGetWorkspaceSize(const aclTensor* self, const aclIntArray* dims, aclTensor* out,
                                         uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnPermute", size, executor, [&](ApiCall& call) { permute(call, self, dims, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnPermute)

aclnnStatus aclnnCatGetWorkspaceSize(const aclTensorList* tensors, int64_t dim, aclTensor* out,
                                     uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnCat", size, executor, [&](ApiCall& call) { concatenate(call, tensors, dim, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnCat)

aclnnStatus aclnnLayerNormGetWorkspaceSize(const aclTensor* input, const aclIntArray* shape,
                                           const aclTensor* weight, const aclTensor* bias, double epsilon,
                                           aclTensor* out, aclTensor* mean, aclTensor* deviation,
                                           uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnLayerNorm", size, executor, [&](ApiCall& call) {
    normalise(call, input, shape, weight, bias, epsilon, out, mean, deviation);
  });
}
OPDUMP_ACLNN_EXECUTE(aclnnLayerNorm)
