// The single-operator API as its users call it: each operator is called in two stages and checked against
// numbers that are known. nn_test [acl.json]; with the words of a mistake it prints codes.
#include <acl/acl.h>
#include <aclnnop/aclnn_abs.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_addmm.h>
#include <aclnnop/aclnn_batch_matmul.h>
#include <aclnnop/aclnn_cast.h>
#include <aclnnop/aclnn_cat.h>
#include <aclnnop/aclnn_convolution.h>
#include <aclnnop/aclnn_div.h>
#include <aclnnop/aclnn_exp.h>
#include <aclnnop/aclnn_gelu.h>
#include <aclnnop/aclnn_layer_norm.h>
#include <aclnnop/aclnn_log_softmax.h>
#include <aclnnop/aclnn_matmul.h>
#include <aclnnop/aclnn_mean.h>
#include <aclnnop/aclnn_mm.h>
#include <aclnnop/aclnn_mul.h>
#include <aclnnop/aclnn_neg.h>
#include <aclnnop/aclnn_permute.h>
#include <aclnnop/aclnn_reduce_sum.h>
#include <aclnnop/aclnn_relu.h>
#include <aclnnop/aclnn_sigmoid.h>
#include <aclnnop/aclnn_silu.h>
#include <aclnnop/aclnn_softmax.h>
#include <aclnnop/aclnn_sqrt.h>
#include <aclnnop/aclnn_sub.h>
#include <aclnnop/aclnn_tanh.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      const char* text_ = aclGetRecentErrMsg();                                                            \
      std::fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, text_ ? text_ : "no text"); \
      std::exit(1);                                                                                        \
    }                                                                                                      \
  } while (0)
#define OK_(call) CHECK((call) == ACL_SUCCESS)

// Both stages, with what lies between them in every program.
#define RUN(api, ...)                                                               \
  do {                                                                              \
    uint64_t size_ = 0;                                                             \
    aclOpExecutor* executor_ = nullptr;                                             \
    OK_(api##GetWorkspaceSize(__VA_ARGS__, &size_, &executor_));                    \
    void* workspace_ = nullptr;                                                     \
    if (size_ > 0) OK_(aclrtMalloc(&workspace_, size_, ACL_MEM_MALLOC_HUGE_FIRST)); \
    OK_(api(workspace_, size_, executor_, stream));                                 \
    OK_(aclrtSynchronizeStream(stream));                                            \
    if (workspace_) OK_(aclrtFree(workspace_));                                     \
  } while (0)

namespace {

using Dims = std::vector<int64_t>;
aclrtStream stream = nullptr;

// A tensor on the device.
template <typename T>
struct Device {
  Device(Dims shape, std::vector<T> values, aclDataType type, Dims strides = {}, Dims view = {},
         int64_t offset = 0)
      : count(values.size()) {
    OK_(aclrtMalloc(&memory, count * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST));
    OK_(aclrtMemcpy(memory, count * sizeof(T), values.data(), count * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
    if (strides.empty()) {
      strides.assign(shape.size(), 1);
      for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
      view = shape;
    }
    tensor = aclCreateTensor(view.data(), view.size(), type, strides.data(), offset, ACL_FORMAT_ND,
                             shape.data(), shape.size(), memory);
    CHECK(tensor);
  }
  ~Device() {
    OK_(aclDestroyTensor(tensor));
    OK_(aclrtFree(memory));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  std::vector<T> values() const {
    std::vector<T> host(count);
    OK_(aclrtMemcpy(host.data(), count * sizeof(T), memory, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
    return host;
  }
  bool is(const std::vector<T>& expected) const { return values() == expected; }
  bool is_near(const std::vector<T>& expected) const {
    const std::vector<T> found = values();
    for (size_t i = 0; i < count; ++i)
      if (std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i])) > 1e-5) return false;
    return true;
  }

  size_t count;
  void* memory = nullptr;
  aclTensor* tensor = nullptr;
};

struct Float : Device<float> {
  Float(Dims shape, std::vector<float> values) : Device(std::move(shape), std::move(values), ACL_FLOAT) {}
};

struct Ints {
  Ints(Dims values) : array(aclCreateIntArray(values.data(), values.size())) {}  // NOLINT
  ~Ints() { OK_(aclDestroyIntArray(array)); }
  aclIntArray* array;
};

struct Scalar {
  explicit Scalar(float value) : scalar(aclCreateScalar(&value, ACL_FLOAT)) {}
  ~Scalar() { OK_(aclDestroyScalar(scalar)); }
  aclScalar* scalar;
};

void test_elements() {
  const Float a({2, 2}, {1, 2, 3, 4}), b({2}, {10, 20}), out({2, 2}, {0, 0, 0, 0});
  const Scalar one(1), two(2);
  RUN(aclnnAdd, a.tensor, b.tensor, one.scalar, out.tensor);
  CHECK(out.is({11, 22, 13, 24}));
  RUN(aclnnAdd, a.tensor, b.tensor, two.scalar, out.tensor);
  CHECK(out.is({21, 42, 23, 44}));
  RUN(aclnnAdds, a.tensor, two.scalar, two.scalar, out.tensor);
  CHECK(out.is({5, 6, 7, 8}));
  RUN(aclnnSub, a.tensor, b.tensor, one.scalar, out.tensor);
  CHECK(out.is({-9, -18, -7, -16}));
  RUN(aclnnSubs, a.tensor, two.scalar, one.scalar, out.tensor);
  CHECK(out.is({-1, 0, 1, 2}));
  RUN(aclnnMul, a.tensor, b.tensor, out.tensor);
  CHECK(out.is({10, 40, 30, 80}));
  RUN(aclnnMuls, a.tensor, two.scalar, out.tensor);
  CHECK(out.is({2, 4, 6, 8}));
  RUN(aclnnDiv, b.tensor, a.tensor, out.tensor);
  CHECK(out.is_near({10, 10, 10.F / 3, 5}));
  RUN(aclnnDivs, a.tensor, two.scalar, out.tensor);
  CHECK(out.is({0.5, 1, 1.5, 2}));
  const Float x({4}, {-2, -0.5, 0, 1}), y({4}, {0, 0, 0, 0});
  RUN(aclnnRelu, x.tensor, y.tensor);
  CHECK(y.is({0, 0, 0, 1}));
  RUN(aclnnAbs, x.tensor, y.tensor);
  CHECK(y.is({2, 0.5, 0, 1}));
  RUN(aclnnNeg, x.tensor, y.tensor);
  CHECK(y.is({2, 0.5, 0, -1}));
  RUN(aclnnSigmoid, x.tensor, y.tensor);
  CHECK(y.is_near({0.11920292F, 0.37754067F, 0.5, 0.73105858F}));
  RUN(aclnnTanh, x.tensor, y.tensor);
  CHECK(y.is_near({-0.96402758F, -0.46211716F, 0, 0.76159416F}));
  RUN(aclnnExp, x.tensor, y.tensor);
  CHECK(y.is_near({0.13533528F, 0.60653066F, 1, 2.71828183F}));
  RUN(aclnnGelu, x.tensor, y.tensor);
  CHECK(y.is_near({-0.04550026F, -0.15426877F, 0, 0.84134475F}));
  RUN(aclnnSilu, x.tensor, y.tensor);
  CHECK(y.is_near({-0.23840584F, -0.18877033F, 0, 0.73105858F}));
  RUN(aclnnSqrt, b.tensor, b.tensor);
  CHECK(b.is_near({3.16227766F, 4.47213595F}));
}

void test_in_place() {
  const Float a({2}, {1, 4}), b({2}, {2, 2});
  const Scalar one(1), two(2);
  RUN(aclnnInplaceAdd, a.tensor, b.tensor, two.scalar);
  CHECK(a.is({5, 8}));
  RUN(aclnnInplaceAdds, a.tensor, one.scalar, one.scalar);
  CHECK(a.is({6, 9}));
  RUN(aclnnInplaceSub, a.tensor, b.tensor, one.scalar);
  CHECK(a.is({4, 7}));
  RUN(aclnnInplaceSubs, a.tensor, one.scalar, one.scalar);
  CHECK(a.is({3, 6}));
  RUN(aclnnInplaceMul, a.tensor, b.tensor);
  CHECK(a.is({6, 12}));
  RUN(aclnnInplaceMuls, a.tensor, two.scalar);
  CHECK(a.is({12, 24}));
  RUN(aclnnInplaceDiv, a.tensor, b.tensor);
  CHECK(a.is({6, 12}));
  RUN(aclnnInplaceDivs, a.tensor, two.scalar);
  CHECK(a.is({3, 6}));
  RUN(aclnnInplaceNeg, a.tensor);
  CHECK(a.is({-3, -6}));
  RUN(aclnnInplaceRelu, a.tensor);
  CHECK(a.is({0, 0}));
  RUN(aclnnInplaceExp, a.tensor);
  CHECK(a.is({1, 1}));
  RUN(aclnnInplaceSqrt, a.tensor);
  CHECK(a.is({1, 1}));
  RUN(aclnnInplaceTanh, a.tensor);
  CHECK(a.is_near({0.76159416F, 0.76159416F}));
  RUN(aclnnInplaceSigmoid, a.tensor);
  CHECK(a.is_near({0.68169974F, 0.68169974F}));
}

void test_matrices() {
  const Float a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3, 2}, {1, 0, 0, 1, 1, 1}), out({2, 2}, {0, 0, 0, 0});
  const std::vector<float> product{4, 5, 10, 11};
  RUN(aclnnMatmul, a.tensor, b.tensor, out.tensor, 0);
  CHECK(out.is(product));
  RUN(aclnnMm, a.tensor, b.tensor, out.tensor, 1);
  CHECK(out.is(product));
  const Float c({2}, {100, 200});
  const Scalar half(0.5), two(2);
  RUN(aclnnAddmm, c.tensor, a.tensor, b.tensor, half.scalar, two.scalar, out.tensor, 0);
  CHECK(out.is({58, 110, 70, 122}));
  const Float batch({1, 2, 2}, {1, 2, 3, 4}), result({1, 2, 2}, {0, 0, 0, 0});
  RUN(aclnnBatchMatMul, batch.tensor, batch.tensor, result.tensor, 0);
  CHECK(result.is({7, 10, 15, 22}));
  // a, turned by its strides
  const Device<float> turned({2, 3}, {1, 2, 3, 4, 5, 6}, ACL_FLOAT, {1, 3}, {3, 2});
  const Float square({3, 3}, std::vector<float>(9));
  RUN(aclnnMatmul, turned.tensor, a.tensor, square.tensor, 0);
  CHECK(square.is({17, 22, 27, 22, 29, 36, 27, 36, 45}));
}

void test_convolution() {
  const Float x({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), w({1, 1, 2, 2}, {1, 0, 0, 1}), b({1}, {0.5});
  const Float out({1, 1, 2, 2}, {0, 0, 0, 0}), padded({1, 1, 4, 4}, std::vector<float>(16));
  const Ints ones({1, 1}), zeros({0, 0}), uneven({1, 0, 1, 0});
  RUN(aclnnConvolution, x.tensor, w.tensor, b.tensor, ones.array, zeros.array, ones.array, false, zeros.array,
      1, out.tensor, 0);
  CHECK(out.is({6.5, 8.5, 12.5, 14.5}));
  RUN(aclnnConvolution, x.tensor, w.tensor, nullptr, ones.array, ones.array, ones.array, false, zeros.array,
      1, padded.tensor, 0);
  CHECK(padded.is({1, 2, 3, 0, 4, 6, 8, 3, 7, 12, 14, 6, 0, 7, 8, 9}));
  const Float top({1, 1, 3, 3}, std::vector<float>(9));  // padded above and to the left
  RUN(aclnnConvolution, x.tensor, w.tensor, nullptr, ones.array, uneven.array, ones.array, false, zeros.array,
      1, top.tensor, 0);
  CHECK(top.is({1, 2, 3, 4, 6, 8, 7, 12, 14}));
  RUN(aclnnConvolution, x.tensor, w.tensor, nullptr, ones.array, zeros.array, ones.array, true, zeros.array,
      1, padded.tensor, 0);
  CHECK(padded.is({1, 2, 3, 0, 4, 6, 8, 3, 7, 12, 14, 6, 0, 7, 8, 9}));
}

void test_dimensions() {
  const Float a({2, 3}, {1, 2, 3, 4, 5, 6});
  const Float sum({3}, {0, 0, 0}), all({}, {0}), kept({2, 1}, {0, 0}), turned({3, 2}, std::vector<float>(6));
  const Ints first({0}), none({}), last({-1}), order({1, 0});
  RUN(aclnnReduceSum, a.tensor, first.array, false, ACL_FLOAT, sum.tensor);
  CHECK(sum.is({5, 7, 9}));
  RUN(aclnnReduceSum, a.tensor, none.array, false, ACL_FLOAT, all.tensor);
  CHECK(all.is({21}));
  RUN(aclnnMean, a.tensor, last.array, true, ACL_FLOAT, kept.tensor);
  CHECK(kept.is({2, 5}));
  RUN(aclnnPermute, a.tensor, order.array, turned.tensor);
  CHECK(turned.is({1, 4, 2, 5, 3, 6}));
  const Float same({2, 3}, std::vector<float>(6));
  RUN(aclnnSoftmax, a.tensor, -1, same.tensor);
  CHECK(same.is_near({0.09003057F, 0.24472847F, 0.66524096F, 0.09003057F, 0.24472847F, 0.66524096F}));
  RUN(aclnnLogSoftmax, a.tensor, 1, same.tensor);
  CHECK(same.is_near({-2.40760596F, -1.40760596F, -0.40760596F, -2.40760596F, -1.40760596F, -0.40760596F}));
  const Float mean({2, 1}, {0, 0}), deviation({2, 1}, {0, 0});
  const Ints shape({3});
  RUN(aclnnLayerNorm, a.tensor, shape.array, nullptr, nullptr, 0.0, same.tensor, mean.tensor,
      deviation.tensor);
  CHECK(same.is_near({-1.22474487F, 0, 1.22474487F, -1.22474487F, 0, 1.22474487F}));
  CHECK(mean.is({2, 5}) && deviation.is_near({1.22474487F, 1.22474487F}));
}

void test_lists() {
  const int64_t dims[] = {1, 2}, strides[] = {2, 1};
  float x[] = {1, 2}, y[] = {3, 4};
  const aclTensor* parts[] = {aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, x),
                              aclCreateTensor(dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 2, y)};
  aclTensorList* list = aclCreateTensorList(parts, 2);
  uint64_t size = 0;
  OK_(aclGetTensorListSize(list, &size));
  CHECK(size == 2);
  const Float out({2, 2}, {0, 0, 0, 0});
  RUN(aclnnCat, list, 0, out.tensor);
  CHECK(out.is({1, 2, 3, 4}));
  OK_(aclDestroyTensorList(list));
}

void test_types() {
  const Device<int32_t> ints({2}, {7, -7}, ACL_INT32), sum({2}, {0, 0}, ACL_INT32);
  const Scalar one(1);
  const int32_t two = 2;
  aclScalar* whole = aclCreateScalar(const_cast<int32_t*>(&two), ACL_INT32);
  RUN(aclnnAdd, ints.tensor, ints.tensor, whole, sum.tensor);
  CHECK(sum.is({21, -21}));
  OK_(aclDestroyScalar(whole));
  const Float quotient({2}, {0, 0});
  const Device<int32_t> twos({2}, {2, 2}, ACL_INT32);
  RUN(aclnnDiv, ints.tensor, twos.tensor, quotient.tensor);
  CHECK(quotient.is({3.5, -3.5}));
  const Float numbers({2}, {1.5, -2.5});
  const Device<uint16_t> halves({2}, {0, 0}, ACL_FLOAT16), twice({2}, {0, 0}, ACL_FLOAT16);
  RUN(aclnnCast, numbers.tensor, ACL_FLOAT16, halves.tensor);
  CHECK(halves.is({aclFloatToFloat16(1.5F), aclFloatToFloat16(-2.5F)}));
  RUN(aclnnAdd, halves.tensor, halves.tensor, one.scalar, twice.tensor);
  CHECK(twice.is({aclFloatToFloat16(3), aclFloatToFloat16(-5)}));
  const Device<uint16_t> brains({2}, {0x3fc0, 0xc020}, ACL_BF16);  // 1.5, -2.5
  RUN(aclnnRelu, brains.tensor, brains.tensor);
  CHECK(brains.is({0x3fc0, 0}));
  const Device<double> doubles({2}, {1e-300, 2}, ACL_DOUBLE), product({2}, {0, 0}, ACL_DOUBLE);
  RUN(aclnnMul, doubles.tensor, doubles.tensor, product.tensor);
  CHECK(product.values()[1] == 4);
}

// What tensors and lists say of themselves.
void test_objects() {
  Device<float> view({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, ACL_FLOAT, {4, 2}, {2, 2}, 1);
  int64_t *dims = nullptr, offset = 0;
  uint64_t count = 0;
  aclDataType type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  void* memory = nullptr;
  OK_(aclGetViewShape(view.tensor, &dims, &count));
  CHECK(count == 2 && dims[0] == 2 && dims[1] == 2);
  delete[] dims;
  OK_(aclGetStorageShape(view.tensor, &dims, &count));
  CHECK(count == 2 && dims[1] == 4);
  delete[] dims;
  OK_(aclGetViewStrides(view.tensor, &dims, &count));
  CHECK(dims[0] == 4 && dims[1] == 2);
  delete[] dims;
  OK_(aclGetViewOffset(view.tensor, &offset));
  OK_(aclGetDataType(view.tensor, &type));
  OK_(aclGetFormat(view.tensor, &format));
  OK_(aclGetRawTensorAddr(view.tensor, &memory));
  CHECK(offset == 1 && type == ACL_FLOAT && format == ACL_FORMAT_ND && memory == view.memory);
  RUN(aclnnNeg, view.tensor, view.tensor);  // only the elements of the view
  CHECK(view.is({0, -1, 2, -3, 4, -5, 6, -7}));
  const int64_t one = 1;
  OK_(aclInitTensor(view.tensor, &one, 1, ACL_FLOAT, &one, 7, ACL_FORMAT_ND, &one, 1, nullptr));
  OK_(aclSetRawTensorAddr(view.tensor, view.memory));
  RUN(aclnnAbs, view.tensor, view.tensor);
  CHECK(view.values()[7] == 7);
  const bool bools[] = {true, false};
  const float floats[] = {1, 2, 3};
  aclBoolArray* bool_array = aclCreateBoolArray(bools, 2);
  aclFloatArray* float_array = aclCreateFloatArray(floats, 3);
  const Ints ints({1, 2, 3, 4});
  float value = 1;
  const aclScalar* scalars[] = {aclCreateScalar(&value, ACL_FLOAT)};
  aclScalarList* scalar_list = aclCreateScalarList(scalars, 1);
  OK_(aclGetBoolArraySize(bool_array, &count));
  CHECK(count == 2);
  OK_(aclGetFloatArraySize(float_array, &count));
  CHECK(count == 3);
  OK_(aclGetIntArraySize(ints.array, &count));
  CHECK(count == 4);
  OK_(aclGetScalarListSize(scalar_list, &count));
  CHECK(count == 1);
  OK_(aclDestroyBoolArray(bool_array));
  OK_(aclDestroyFloatArray(float_array));
  OK_(aclDestroyScalarList(scalar_list));
}

void test_repeated() {
  const Float a({2}, {1, 4}), b({2}, {9, 16}), out({2}, {0, 0}), other({2}, {0, 0});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  OK_(aclnnSqrtGetWorkspaceSize(a.tensor, out.tensor, &size, &executor));
  OK_(aclSetAclOpExecutorRepeatable(executor));
  OK_(aclnnSqrt(nullptr, 0, executor, stream));
  CHECK(out.is({1, 2}));
  OK_(aclSetInputTensorAddr(executor, 0, a.tensor, b.memory));
  OK_(aclSetOutputTensorAddr(executor, 0, out.tensor, other.memory));
  OK_(aclnnSqrt(nullptr, 0, executor, stream));
  CHECK(out.is({1, 2}) && other.is({3, 4}));
  OK_(aclSetTensorAddr(executor, 1, out.tensor, out.memory));
  OK_(aclSetDynamicInputTensorAddr(executor, 0, 0, nullptr, a.memory));
  OK_(aclSetDynamicTensorAddr(executor, 0, 0, nullptr, b.memory));
  OK_(aclnnSqrt(nullptr, 0, executor, stream));
  CHECK(out.is({3, 4}));
  CHECK(aclSetInputTensorAddr(executor, 1, a.tensor, b.memory) == 161002);
  CHECK(aclSetOutputTensorAddr(executor, 0, a.tensor, nullptr) == 161001);
  OK_(aclDestroyAclOpExecutor(executor));
  CHECK(aclDestroyAclOpExecutor(executor) == 561103 &&
        aclSetTensorAddr(executor, 0, nullptr, a.memory) == 561103);
}

void test_mistakes() {
  const Float a({2, 2}, {1, 2, 3, 4}), b({3}, {1, 2, 3}), small({2}, {0, 0});
  const Scalar one(1);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  CHECK(aclnnAddGetWorkspaceSize(nullptr, a.tensor, one.scalar, a.tensor, &size, &executor) == 161001);
  CHECK(aclnnAddGetWorkspaceSize(a.tensor, a.tensor, nullptr, a.tensor, &size, &executor) == 161001);
  CHECK(aclnnAddGetWorkspaceSize(a.tensor, a.tensor, one.scalar, nullptr, &size, &executor) == 161001);
  CHECK(aclnnAddGetWorkspaceSize(a.tensor, a.tensor, one.scalar, a.tensor, nullptr, &executor) == 161001);
  CHECK(aclnnAddGetWorkspaceSize(a.tensor, b.tensor, one.scalar, a.tensor, &size, &executor) == 161002);
  CHECK(aclnnReluGetWorkspaceSize(a.tensor, small.tensor, &size, &executor) == 161002);
  CHECK(
      std::strstr(aclGetRecentErrMsg(), "aclnnRelu: the result has type 0 (2,2); the output has type 0 (2)"));
  CHECK(aclnnMmGetWorkspaceSize(a.tensor, b.tensor, a.tensor, 0, &size, &executor) == 161002);
  CHECK(aclnnMatmulGetWorkspaceSize(a.tensor, a.tensor, a.tensor, 4, &size, &executor) == 161002);
  CHECK(aclnnCastGetWorkspaceSize(a.tensor, ACL_INT8, a.tensor, &size, &executor) == 161002);
  CHECK(aclnnSoftmaxGetWorkspaceSize(a.tensor, 2, a.tensor, &size, &executor) == 161002);
  CHECK(aclnnPermuteGetWorkspaceSize(a.tensor, nullptr, a.tensor, &size, &executor) == 161001);
  const int64_t negative[] = {2, -2}, large[] = {int64_t{1} << 40, int64_t{1} << 40};
  CHECK(!aclCreateTensor(negative, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, negative, 2, a.memory));
  CHECK(!aclCreateTensor(large, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, large, 2, a.memory));
  CHECK(!aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, a.memory));
  CHECK(!aclCreateScalar(nullptr, ACL_FLOAT) && aclDestroyTensor(nullptr) == 161001);
  OK_(aclnnReluGetWorkspaceSize(a.tensor, a.tensor, &size, &executor));
  CHECK(aclnnExp(nullptr, 0, executor, stream) == 161002);
  OK_(aclnnRelu(nullptr, 0, executor, stream));
  CHECK(aclnnRelu(nullptr, 0, executor, stream) == 561103);
  CHECK(aclnnRelu(nullptr, 0, nullptr, stream) == 561103);
}

}  // namespace

int main(int argc, char** argv) {
  OK_(aclnnInit(argc > 1 ? argv[1] : nullptr));
  OK_(aclrtSetDevice(0));
  OK_(aclrtCreateStream(&stream));
  test_elements();
  test_in_place();
  test_matrices();
  test_convolution();
  test_dimensions();
  test_lists();
  test_types();
  test_objects();
  test_repeated();
  test_mistakes();
  OK_(aclrtDestroyStream(stream));
  OK_(aclnnFinalize());
  return 0;
}
