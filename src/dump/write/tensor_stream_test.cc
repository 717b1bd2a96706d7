#include "dump/write/tensor_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <numeric>
#include <vector>

#include "dump/temp_directory_test.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

class TensorStreamTest : public ::testing::Test {
 protected:
  // What a file of `header` and `parts` holds after it is written.
  std::string write(const fs::path& path, std::string_view header, std::span<const std::string> parts) {
    fs::remove(path);
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    std::uint64_t total = header.size();
    for (const std::string& part : parts) total += part.size();
    StreamWriter writer(fd, header, path, total);
    for (const std::string& part : parts) EXPECT_TRUE(writer.write(std::as_bytes(std::span(part))));
    EXPECT_TRUE(writer.finish());
    return *read_file(path, 1 << 30);
  }

  static std::string numbers(std::size_t size, unsigned first = 0) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u + first) >> 13);
    return text;
  }

  const TempDirectory directory_;
  const fs::path root_ = directory_.path();
};

TEST_F(TensorStreamTest, EverySizeOnAnyFileSystem) {
  constexpr std::size_t kMib = 1 << 20;
  for (const fs::path& path :
       {root_ / "file", fs::path("/dev/shm") / (root_.filename().string() + ".opdump")})
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 2 * kMib - 100, 2 * kMib - 77,
                                   2 * kMib - 76, 2 * kMib, 3 * kMib, 3 * kMib + 4096 - 77, 5 * kMib + 1})
      for (const std::string_view header :
           {"", "seventy-seven bytes ........................................................."}) {
        const std::string text = numbers(size);
        EXPECT_TRUE(write(path, header, {&text, 1}) == std::string(header) + text) << path << " " << size;
        fs::remove(path);
      }
}

TEST_F(TensorStreamTest, ManyPartsOfOddSizes) {
  std::vector<std::string> parts;
  std::string all = "header";
  for (unsigned i = 0; i < 50; ++i) all += parts.emplace_back(numbers(i * 7919 % 131072, i));
  EXPECT_TRUE(write(root_ / "file", "header", parts) == all);
}

// A system that is full says so, wherever the last whole block ends.
TEST_F(TensorStreamTest, AFullDiskIsAnError) {
  const std::string text = numbers(4 << 20);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {rlim_t{2} << 20, (rlim_t{2} << 20) + 1000, rlim_t{5000}}) {
    const fs::path path = root_ / std::to_string(limit);
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    const rlimit small{limit, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    StreamWriter writer(fd, "header", path, text.size() + 6);
    Result<> result = writer.write(std::as_bytes(std::span(text)));
    if (result) result = writer.finish();
    ::setrlimit(RLIMIT_FSIZE, &old);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message().find("File too large"), std::string::npos) << result.error().message();
  }
  std::signal(SIGXFSZ, ignored);
}

}  // namespace
}  // namespace opdump::dump
