// Operators on elements, and types.
#include <aclnnop/aclnn_abs.h>
#include <aclnnop/aclnn_add.h>
#include <aclnnop/aclnn_cast.h>
#include <aclnnop/aclnn_div.h>
#include <aclnnop/aclnn_exp.h>
#include <aclnnop/aclnn_gelu.h>
#include <aclnnop/aclnn_mul.h>
#include <aclnnop/aclnn_neg.h>
#include <aclnnop/aclnn_relu.h>
#include <aclnnop/aclnn_sigmoid.h>
#include <aclnnop/aclnn_silu.h>
#include <aclnnop/aclnn_sqrt.h>
#include <aclnnop/aclnn_sub.h>
#include <aclnnop/aclnn_tanh.h>

#include "nn/api_call.h"

using opdump::acl::nn::ApiCall;
using opdump::acl::nn::prepare;
using opdump::acl::nn::Value;

namespace {

// 1 as a number of its type: a factor that changes nothing.
bool is_one(const aclScalar& scalar) {
  switch (scalar.type) {
    case ACL_FLOAT:
      return *reinterpret_cast<const float*>(scalar.value) == 1;
    case ACL_DOUBLE:
      return *reinterpret_cast<const double*>(scalar.value) == 1;
    case ACL_INT64:
      return *reinterpret_cast<const std::int64_t*>(scalar.value) == 1;
    case ACL_INT32:
      return *reinterpret_cast<const std::int32_t*>(scalar.value) == 1;
    default:
      return false;
  }
}

Value compute(ApiCall& call, const char* type, const Value& a, const Value& b, aclDataType in) {
  return call.node(type, {call.cast(a, in), call.cast(b, in)});
}

// self (type) alpha * other
template <typename Other>
void add(ApiCall& call, const char* type, const aclTensor* self, const Other* other, const aclScalar* alpha,
         const aclTensor* out, const char* out_name) {
  const Value a = call.read(self, "self"), b = call.read(other, "other");
  Value scaled = b;
  aclDataType in = call.common({a, b});
  if (!alpha || !is_one(*alpha)) {
    const Value factor = call.read(alpha, "alpha");
    in = call.common({a, b, factor});
    scaled = compute(call, "Mul", b, factor, in);
  }
  call.write(out, out_name, compute(call, type, a, scaled, in));
}

template <typename Other>
void multiply(ApiCall& call, const char* type, const aclTensor* self, const Other* other,
              const aclTensor* out, const char* out_name) {
  const Value a = call.read(self, "self"), b = call.read(other, "other");
  const bool is_quotient = type[0] == 'D';
  call.write(out, out_name,
             compute(call, type, a, b, is_quotient ? call.common_float({a, b}) : call.common({a, b})));
}

void apply(ApiCall& call, const char* type, const aclTensor* self, const aclTensor* out,
           bool keeps_integers) {
  const Value x = call.read(self, "self");
  const aclDataType in = keeps_integers ? call.common({x}) : call.common_float({x});
  call.write(out, "out", call.node(type, {call.cast(x, in)}));
}

// x / 2 * (1 + erf(x / sqrt 2))
void gelu(ApiCall& call, const aclTensor* self, const aclTensor* out) {
  constexpr float kRootHalf = 0.70710678118654752440F;
  const Value x = call.cast(call.read(self, "self"), ACL_FLOAT);
  const Value erf = call.node("Erf", {call.node("Mul", {x, call.constant(kRootHalf, ACL_FLOAT)})});
  const Value sum = call.node("Add", {erf, call.constant(1, ACL_FLOAT)});
  const Value half = call.node("Mul", {x, call.constant(0.5F, ACL_FLOAT)});
  call.write(out, "out", call.node("Mul", {half, sum}));
}

void silu(ApiCall& call, const aclTensor* self, const aclTensor* out) {
  const Value x = call.read(self, "self");
  const Value in = call.cast(x, call.common_float({x}));
  call.write(out, "out", call.node("Mul", {in, call.node("Sigmoid", {in})}));
}

}  // namespace

#define OPDUMP_ACLNN_SUM(name, type)                                                                 \
  aclnnStatus aclnn##name##GetWorkspaceSize(const aclTensor* self, const aclTensor* other,           \
                                            const aclScalar* alpha, aclTensor* out, uint64_t* size,  \
                                            aclOpExecutor** executor) {                              \
    return prepare("aclnn" #name, size, executor,                                                    \
                   [&](ApiCall& call) { add(call, type, self, other, alpha, out, "out"); });         \
  }                                                                                                  \
  aclnnStatus aclnn##name##sGetWorkspaceSize(const aclTensor* self, const aclScalar* other,          \
                                             const aclScalar* alpha, aclTensor* out, uint64_t* size, \
                                             aclOpExecutor** executor) {                             \
    return prepare("aclnn" #name "s", size, executor,                                                \
                   [&](ApiCall& call) { add(call, type, self, other, alpha, out, "out"); });         \
  }                                                                                                  \
  OPDUMP_ACLNN_EXECUTE(aclnn##name)                                                                  \
  OPDUMP_ACLNN_EXECUTE(aclnn##name##s)                                                               \
  OPDUMP_ACLNN_EXECUTE(aclnnInplace##name)                                                           \
  OPDUMP_ACLNN_EXECUTE(aclnnInplace##name##s)

OPDUMP_ACLNN_SUM(Add, "Add")
OPDUMP_ACLNN_SUM(Sub, "Sub")

aclnnStatus aclnnInplaceAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                            const aclScalar* alpha, uint64_t* size,
                                            aclOpExecutor** executor) {
  return prepare("aclnnInplaceAdd", size, executor,
                 [&](ApiCall& call) { add(call, "Add", self, other, alpha, self, "selfRef"); });
}

aclnnStatus aclnnInplaceAddsGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                             const aclScalar* alpha, uint64_t* size,
                                             aclOpExecutor** executor) {
  return prepare("aclnnInplaceAdds", size, executor,
                 [&](ApiCall& call) { add(call, "Add", self, other, alpha, self, "selfRef"); });
}

aclnnStatus aclnnInplaceSubGetWorkspaceSize(aclTensor* self, const aclTensor* other, const aclScalar* alpha,
                                            uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnInplaceSub", size, executor,
                 [&](ApiCall& call) { add(call, "Sub", self, other, alpha, self, "selfRef"); });
}

aclnnStatus aclnnInplaceSubsGetWorkspaceSize(aclTensor* self, const aclScalar* other, const aclScalar* alpha,
                                             uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnInplaceSubs", size, executor,
                 [&](ApiCall& call) { add(call, "Sub", self, other, alpha, self, "selfRef"); });
}

#define OPDUMP_ACLNN_PRODUCT(name)                                                                           \
  aclnnStatus aclnn##name##GetWorkspaceSize(const aclTensor* self, const aclTensor* other, aclTensor* out,   \
                                            uint64_t* size, aclOpExecutor** executor) {                      \
    return prepare("aclnn" #name, size, executor,                                                            \
                   [&](ApiCall& call) { multiply(call, #name, self, other, out, "out"); });                  \
  }                                                                                                          \
  aclnnStatus aclnn##name##sGetWorkspaceSize(const aclTensor* self, const aclScalar* other, aclTensor* out,  \
                                             uint64_t* size, aclOpExecutor** executor) {                     \
    return prepare("aclnn" #name "s", size, executor,                                                        \
                   [&](ApiCall& call) { multiply(call, #name, self, other, out, "out"); });                  \
  }                                                                                                          \
  aclnnStatus aclnnInplace##name##GetWorkspaceSize(aclTensor* self, const aclTensor* other, uint64_t* size,  \
                                                   aclOpExecutor** executor) {                               \
    return prepare("aclnnInplace" #name, size, executor,                                                     \
                   [&](ApiCall& call) { multiply(call, #name, self, other, self, "selfRef"); });             \
  }                                                                                                          \
  aclnnStatus aclnnInplace##name##sGetWorkspaceSize(aclTensor* self, const aclScalar* other, uint64_t* size, \
                                                    aclOpExecutor** executor) {                              \
    return prepare("aclnnInplace" #name "s", size, executor,                                                 \
                   [&](ApiCall& call) { multiply(call, #name, self, other, self, "selfRef"); });             \
  }                                                                                                          \
  OPDUMP_ACLNN_EXECUTE(aclnn##name)                                                                          \
  OPDUMP_ACLNN_EXECUTE(aclnn##name##s)                                                                       \
  OPDUMP_ACLNN_EXECUTE(aclnnInplace##name)                                                                   \
  OPDUMP_ACLNN_EXECUTE(aclnnInplace##name##s)

OPDUMP_ACLNN_PRODUCT(Mul)
OPDUMP_ACLNN_PRODUCT(Div)

#define OPDUMP_ACLNN_UNARY(name, keeps_integers)                                                   \
  aclnnStatus aclnn##name##GetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* size, \
                                            aclOpExecutor** executor) {                            \
    return prepare("aclnn" #name, size, executor,                                                  \
                   [&](ApiCall& call) { apply(call, #name, self, out, keeps_integers); });         \
  }                                                                                                \
  OPDUMP_ACLNN_EXECUTE(aclnn##name)

#define OPDUMP_ACLNN_INPLACE(name, keeps_integers)                                          \
  aclnnStatus aclnnInplace##name##GetWorkspaceSize(aclTensor* self, uint64_t* size,         \
                                                   aclOpExecutor** executor) {              \
    return prepare("aclnnInplace" #name, size, executor,                                    \
                   [&](ApiCall& call) { apply(call, #name, self, self, keeps_integers); }); \
  }                                                                                         \
  OPDUMP_ACLNN_EXECUTE(aclnnInplace##name)

OPDUMP_ACLNN_UNARY(Abs, true)
OPDUMP_ACLNN_UNARY(Exp, false)
OPDUMP_ACLNN_UNARY(Neg, true)
OPDUMP_ACLNN_UNARY(Relu, false)
OPDUMP_ACLNN_UNARY(Sigmoid, false)
OPDUMP_ACLNN_UNARY(Sqrt, false)
OPDUMP_ACLNN_UNARY(Tanh, false)
OPDUMP_ACLNN_INPLACE(Exp, false)
OPDUMP_ACLNN_INPLACE(Neg, true)
OPDUMP_ACLNN_INPLACE(Relu, false)
OPDUMP_ACLNN_INPLACE(Sigmoid, false)
OPDUMP_ACLNN_INPLACE(Sqrt, false)
OPDUMP_ACLNN_INPLACE(Tanh, false)

aclnnStatus aclnnGeluGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* size,
                                      aclOpExecutor** executor) {
  return prepare("aclnnGelu", size, executor, [&](ApiCall& call) { gelu(call, self, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnGelu)

aclnnStatus aclnnSiluGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* size,
                                      aclOpExecutor** executor) {
  return prepare("aclnnSilu", size, executor, [&](ApiCall& call) { silu(call, self, out); });
}
OPDUMP_ACLNN_EXECUTE(aclnnSilu)

aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor* self, const aclDataType type, aclTensor* out,
                                      uint64_t* size, aclOpExecutor** executor) {
  return prepare("aclnnCast", size, executor, [&](ApiCall& call) {
    const Value x = call.read(self, "self");
    if (out) call.expect(out->type == type, "out is of another type than dtype");
    call.write(out, "out", x);
  });
}
OPDUMP_ACLNN_EXECUTE(aclnnCast)
