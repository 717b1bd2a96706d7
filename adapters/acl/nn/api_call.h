// The first stage of aclnnXxx: what an operator computes, written as an ONNX graph while its arguments are
// checked.
#pragma once

#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "nn/executor.h"
#include "onnx_writer.h"

namespace opdump::acl::nn {

// A value of the graph.
struct Value {
  std::string name;  // "": none
  aclDataType type = ACL_DT_UNDEFINED;
  std::size_t rank = 0;
  bool is_scalar = false;  // of the program: it does not decide the type of a result
};

// The first mistake ends the call: what follows does nothing, and finish() returns it.
class ApiCall {
 public:
  explicit ApiCall(const char* api);

  Value read(const aclTensor* tensor, const char* argument);
  Value read_optional(const aclTensor* tensor, const char* argument);  // NULL: a value without a name
  std::vector<Value> read(const aclTensorList* list, const char* argument);
  Value read(const aclScalar* scalar, const char* argument);
  void write(const aclTensor* tensor, const char* argument, const Value& value);

  // Fails for NULL.
  std::vector<std::int64_t> list(const aclIntArray* array, const char* argument);
  // Fails unless it is true.
  bool expect(bool condition, const std::string& text);

  Value node(const char* type, const std::vector<Value>& inputs, Attributes attributes = {});
  std::vector<Value> node(const char* type, const std::vector<Value>& inputs, std::size_t outputs,
                          Attributes attributes);
  Value cast(const Value& value, aclDataType type);
  Value constant(float number, aclDataType type);
  Value constant(const std::vector<std::int64_t>& numbers);

  // The type in which the values are computed: double, float or int64. ONNX Runtime has no more on the CPU
  // for most operators, and the device computes halves in float, too.
  aclDataType common(const std::vector<Value>& values);
  // As above, but never int64.
  aclDataType common_float(const std::vector<Value>& values);

  aclnnStatus finish(std::uint64_t* workspace, aclOpExecutor** executor);

 private:
  bool failed() const { return status_ != ACL_SUCCESS; }
  void fail_with(aclnnStatus status, const std::string& text);
  bool check(const aclTensor* tensor, const char* argument);
  Value feed(const aclTensor& tensor, std::size_t parameter, std::size_t index);
  std::string next_name() { return "v" + std::to_string(values_++); }
  aclnnStatus check_results();

  aclOpExecutor call_;
  aclnnStatus status_ = ACL_SUCCESS;
  std::size_t values_ = 0;
  std::vector<OnnxNode> nodes_;
  struct Input {
    std::string name;
    aclDataType type;
    std::vector<std::int64_t> dims;
  };
  std::vector<Input> inputs_;
  std::vector<std::string> results_;  // of call_.writes: names of values
};

// The whole first stage: `build` is given the call.
template <typename F>
aclnnStatus prepare(const char* api, std::uint64_t* workspace, aclOpExecutor** executor, F&& build) noexcept;

}  // namespace opdump::acl::nn

#include "failure.h"

template <typename F>
aclnnStatus opdump::acl::nn::prepare(const char* api, std::uint64_t* workspace, aclOpExecutor** executor,
                                     F&& build) noexcept {
  return guarded([&] {
    ApiCall call(api);
    build(call);
    return call.finish(workspace, executor);
  });
}

// The second stage, which is the same for all.
#define OPDUMP_ACLNN_EXECUTE(api)                                          \
  aclnnStatus api(void*, uint64_t, aclOpExecutor* executor, aclrtStream) { \
    return opdump::acl::nn::execute(#api, executor);                       \
  }
