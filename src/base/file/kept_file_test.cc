#include "base/file/kept_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace opdump {
namespace {

namespace fs = std::filesystem;

class KeptFileTest : public testing::Test {
 protected:
  KeptFileTest() {
    std::string name = (fs::temp_directory_path() / "opdump_kept_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~KeptFileTest() override { fs::remove_all(directory_); }

  Fd open_file(const char* name) const {
    return Fd(::open((directory_ / name).c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  KeptFile keep(const char* name) const { return {open_file(name), directory_ / name, O_RDWR | O_APPEND}; }
  // What the program does: it closes a descriptor that it did not open, and gets its number for a file of its
  // own.
  void take_over(int number) const {
    ::close(number);
    const Fd file = open_file("program");
    ASSERT_EQ(::fcntl(file.get(), F_DUPFD, number), number);
  }

  fs::path directory_;
};

TEST_F(KeptFileTest, HasANumberThatProgramsDoNotReach) {
  const KeptFile file = keep("ours");
  EXPECT_GT(file.get(), 200);
  EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(KeptFileTest, IsOpenedAnewAndLeavesTheProgramsFileAlone) {
  int number = -1;
  {
    KeptFile file = keep("ours");
    number = file.get();
    take_over(number);
    EXPECT_FALSE(file.is_held());
    const auto fd = file.use();
    ASSERT_TRUE(fd) << fd.error().message();
    EXPECT_NE((*fd)->get(), number);
    ASSERT_TRUE(write_all(**fd, std::as_bytes(std::span("x", 1)), file.path()));
    EXPECT_EQ(fs::file_size(directory_ / "ours"), 1u);
    EXPECT_EQ(fs::file_size(directory_ / "program"), 0u);
  }
  EXPECT_EQ(::close(number), 0);  // it was open
}

TEST_F(KeptFileTest, ClosesNothingThatIsTheProgramsInTheEnd) {
  int number = -1;
  {
    const KeptFile file = keep("ours");
    number = file.get();
    take_over(number);
  }
  EXPECT_EQ(::close(number), 0);
}

TEST_F(KeptFileTest, DoesNotTakeAnotherFileForItsOwn) {
  KeptFile file = keep("ours");
  ::close(file.get());
  fs::rename(directory_ / "ours", directory_ / "moved");
  (void)open_file("ours");
  const auto fd = file.use();
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().code(), Code::io);
}

}  // namespace
}  // namespace opdump
