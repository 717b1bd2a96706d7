// Classifies images with ResNet-50 through AscendCL, the way CANN's samples do. It knows nothing of opdump: built against
// CANN it runs on an Ascend processor, built against opdump's libascendcl it runs ONNX models on the CPU. What is dumped
// is up to the configuration.
//
//   acl_resnet50 ACL.JSON MODEL IMAGE.bin ...      an image is 1x3x224x224 float32, row by row
#include <acl/acl.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace {

bool check(aclError code, const char* what) {
  if (code == ACL_SUCCESS) return true;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: error %d: %s\n", what, code, text ? text : "");
  return false;
}

std::vector<char> read_image(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A loaded model with device memory for its one input and its one output.
class Model {
 public:
  bool load(const char* path) {
    std::size_t work_size = 0, weight_size = 0;
    if (!check(aclmdlQuerySize(path, &work_size, &weight_size), "aclmdlQuerySize")) return false;
    if (!check(aclrtMalloc(&work_, work_size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc")) return false;
    if (!check(aclrtMalloc(&weights_, weight_size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc")) return false;
    if (!check(aclmdlLoadFromFileWithMem(path, &id_, work_, work_size, weights_, weight_size), "aclmdlLoadFromFileWithMem"))
      return false;
    is_loaded_ = true;
    desc_ = aclmdlCreateDesc();
    if (!check(aclmdlGetDesc(desc_, id_), "aclmdlGetDesc")) return false;
    input_size_ = aclmdlGetInputSizeByIndex(desc_, 0);
    output_size_ = aclmdlGetOutputSizeByIndex(desc_, 0);
    return make_dataset(input_size_, &input_memory_, &input_buffer_, &input_) &&
           make_dataset(output_size_, &output_memory_, &output_buffer_, &output_);
  }

  // The scores of an image; empty if something failed.
  std::vector<float> execute(const std::vector<char>& image) {
    if (image.size() != input_size_) {
      std::fprintf(stderr, "the image has %zu bytes, the model takes %zu\n", image.size(), input_size_);
      return {};
    }
    if (!check(aclrtMemcpy(input_memory_, input_size_, image.data(), image.size(), ACL_MEMCPY_HOST_TO_DEVICE),
               "aclrtMemcpy") ||
        !check(aclmdlExecute(id_, input_, output_), "aclmdlExecute"))
      return {};
    std::vector<float> scores(output_size_ / sizeof(float));
    if (!check(aclrtMemcpy(scores.data(), output_size_, output_memory_, output_size_, ACL_MEMCPY_DEVICE_TO_HOST),
               "aclrtMemcpy"))
      return {};
    return scores;
  }

  ~Model() {
    if (input_) aclmdlDestroyDataset(input_);
    if (output_) aclmdlDestroyDataset(output_);
    if (input_buffer_) aclDestroyDataBuffer(input_buffer_);
    if (output_buffer_) aclDestroyDataBuffer(output_buffer_);
    if (is_loaded_) check(aclmdlUnload(id_), "aclmdlUnload");
    if (desc_) aclmdlDestroyDesc(desc_);
    for (void* memory : {input_memory_, output_memory_, work_, weights_})
      if (memory) aclrtFree(memory);
  }

 private:
  static bool make_dataset(std::size_t size, void** memory, aclDataBuffer** buffer, aclmdlDataset** dataset) {
    if (!check(aclrtMalloc(memory, size, ACL_MEM_MALLOC_NORMAL_ONLY), "aclrtMalloc")) return false;
    *buffer = aclCreateDataBuffer(*memory, size);
    *dataset = aclmdlCreateDataset();
    return check(aclmdlAddDatasetBuffer(*dataset, *buffer), "aclmdlAddDatasetBuffer");
  }

  std::uint32_t id_ = 0;
  bool is_loaded_ = false;
  aclmdlDesc* desc_ = nullptr;
  void *work_ = nullptr, *weights_ = nullptr, *input_memory_ = nullptr, *output_memory_ = nullptr;
  std::size_t input_size_ = 0, output_size_ = 0;
  aclDataBuffer *input_buffer_ = nullptr, *output_buffer_ = nullptr;
  aclmdlDataset *input_ = nullptr, *output_ = nullptr;
};

void print_best(const char* path, const std::vector<float>& scores) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t count = std::min<std::size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](int a, int b) { return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)]; });
  std::printf("%s\n", path);
  for (std::size_t i = 0; i < count; ++i)
    std::printf("  top %zu: class %d, score %.4f\n", i + 1, order[i], scores[static_cast<std::size_t>(order[i])]);
}

bool classify(const char* model_path, int count, char** images) {
  Model model;
  if (!model.load(model_path)) return false;
  for (int i = 0; i < count; ++i) {
    const std::vector<float> scores = model.execute(read_image(images[i]));
    if (scores.empty()) return false;
    print_best(images[i], scores);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: acl_resnet50 ACL.JSON MODEL IMAGE.bin ...\n");
    return 2;
  }
  constexpr std::int32_t kDevice = 0;
  aclrtContext context = nullptr;
  aclrtStream stream = nullptr;
  if (!check(aclInit(argv[1]), "aclInit")) return 1;
  bool is_good = check(aclrtSetDevice(kDevice), "aclrtSetDevice") &&
                 check(aclrtCreateContext(&context, kDevice), "aclrtCreateContext") &&
                 check(aclrtCreateStream(&stream), "aclrtCreateStream");
  is_good = is_good && classify(argv[2], argc - 3, argv + 3);
  if (stream) aclrtDestroyStream(stream);
  if (context) aclrtDestroyContext(context);
  aclrtResetDevice(kDevice);
  return check(aclFinalize(), "aclFinalize") && is_good ? 0 : 1;
}
