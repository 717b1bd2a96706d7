// One operator of CANN's single-operator interface, as its documentation shows it: out = self + alpha * other.
//
//   aclnn_add [acl.json]      acl.json says what to dump
#include <acl/acl.h>
#include <aclnnop/aclnn_add.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

// Ends with the text of the failure.
bool ok(const char* call, int code) {
  if (code == ACL_SUCCESS) return true;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s failed with %d: %s\n", call, code, text ? text : "");
  return false;
}
#define OK(call) ok(#call, call)

// Copies `values` to the device and describes them as a tensor of this shape.
aclTensor* make_tensor(const std::vector<float>& values, const std::vector<int64_t>& shape, void** memory) {
  const size_t size = values.size() * sizeof(float);
  if (!OK(aclrtMalloc(memory, size, ACL_MEM_MALLOC_HUGE_FIRST)) ||
      !OK(aclrtMemcpy(*memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE)))
    return nullptr;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND,
                         shape.data(), shape.size(), *memory);
}

bool add(aclrtStream stream) {
  const std::vector<int64_t> shape{2, 2};
  void *self_memory = nullptr, *other_memory = nullptr, *out_memory = nullptr, *workspace = nullptr;
  aclTensor* self = make_tensor({0, 1, 2, 3}, shape, &self_memory);
  aclTensor* other = make_tensor({1, 1, 1, 2}, shape, &other_memory);
  aclTensor* out = make_tensor({0, 0, 0, 0}, shape, &out_memory);
  float factor = 1.5F;
  aclScalar* alpha = aclCreateScalar(&factor, ACL_FLOAT);
  if (!self || !other || !out || !alpha) return false;

  // First stage: how much memory does the operator need? Second stage: execute it.
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  if (!OK(aclnnAddGetWorkspaceSize(self, other, alpha, out, &size, &executor))) return false;
  if (size > 0 && !OK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST))) return false;
  if (!OK(aclnnAdd(workspace, size, executor, stream)) || !OK(aclrtSynchronizeStream(stream))) return false;

  float result[4];
  if (!OK(aclrtMemcpy(result, sizeof result, out_memory, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST)))
    return false;
  for (const float value : result) std::printf("%g ", value);
  std::printf("\n");

  for (aclTensor* tensor : {self, other, out}) aclDestroyTensor(tensor);
  aclDestroyScalar(alpha);
  for (void* memory : {self_memory, other_memory, out_memory, workspace})
    if (memory) aclrtFree(memory);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  aclrtStream stream = nullptr;
  if (!OK(aclInit(argc > 1 ? argv[1] : nullptr)) || !OK(aclrtSetDevice(0)) ||
      !OK(aclrtCreateStream(&stream)))
    return 1;
  const bool done = add(stream);
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  return OK(aclFinalize()) && done ? 0 : 1;
}
