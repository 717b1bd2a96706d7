#include "msaccucmp/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "dump/temp_directory_test.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Paths : public testing::Test {
 protected:
  Paths() { std::ofstream(file_) << "x"; }

  Status check(const std::string& given, PathKind kind = PathKind::any) {
    log_.clear();
    return check_path(given, kind, log_);
  }
  std::string said() const { return log_.empty() ? "" : log_.lines().back().text; }

  dump::TempDirectory directory_;
  fs::path file_ = directory_.path() / "file";
  Log log_;
};

TEST_F(Paths, OfTheRightKind) {
  EXPECT_EQ(check(file_.string()), Status::ok);
  EXPECT_EQ(check(file_.string(), PathKind::file), Status::ok);
  EXPECT_EQ(check(directory_.path().string(), PathKind::directory), Status::ok);
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(check(file_.string(), PathKind::directory), Status::invalid_path);
  EXPECT_THAT(said(), HasSubstr("is not a directory"));
  EXPECT_EQ(check(directory_.path().string(), PathKind::file), Status::invalid_path);
  EXPECT_THAT(said(), HasSubstr("is not a file"));
}

TEST_F(Paths, ThatAreWrong) {
  EXPECT_EQ(check(""), Status::invalid_parameter);
  EXPECT_EQ(check(file_.string() + "*"), Status::invalid_parameter);
  EXPECT_EQ(check((directory_.path() / "gone").string()), Status::invalid_path);
  EXPECT_THAT(said(), HasSubstr("does not exist"));
  EXPECT_EQ(check((directory_.path() / std::string(255, 'n')).string()), Status::invalid_path);
  EXPECT_EQ(said(), "The file name length exceeds the maximum limit, the maximum limit is 255.");
  std::string path = "/";
  while (path.size() < 5000) path += "name/";
  EXPECT_EQ(check(path), Status::invalid_path);
  EXPECT_EQ(said(), "The path length exceeds the maximum limit, the maximum limit is 4096.");
}

TEST_F(Paths, LinksAreRefusedWithASlashBehindToo) {
  const fs::path link = directory_.path() / "link";
  fs::create_directory_symlink(directory_.path(), link);
  for (const std::string& given : {link.string(), link.string() + "/"}) {
    EXPECT_EQ(check(given), Status::invalid_path);
    EXPECT_THAT(said(), HasSubstr("is a softlink"));
    EXPECT_TRUE(is_link(given));
  }
  EXPECT_EQ(check((link / "file").string()), Status::ok);
}

TEST_F(Paths, OutputIsMade) {
  const fs::path made = directory_.path() / "a" / "b";
  EXPECT_EQ(check_output(made.string(), log_), Status::ok);
  EXPECT_TRUE(fs::is_directory(made));
  EXPECT_EQ(check_output(file_.string(), log_), Status::invalid_path);
  EXPECT_EQ(check_output((file_ / "below").string(), log_), Status::invalid_path);
  EXPECT_THAT(said(), HasSubstr("[Errno 20] Not a directory"));
}

TEST_F(Paths, RealOnesHaveNoDots) {
  EXPECT_EQ(real_path("/a/./b/../c/"), fs::path("/a/c"));
  EXPECT_EQ(real_path("/"), fs::path("/"));
  EXPECT_EQ(real_text(""), fs::current_path().string());
}

TEST(SystemErrors, AreThoseOfPython) {
  EXPECT_EQ(python_os_error(Error(Code::io, "/a: write: No space left on device"), "/a"),
            "[Errno 28] No space left on device: '/a'");
  EXPECT_EQ(python_os_error(Error(Code::corrupt, "torn"), "/a"), "torn");
}

TEST(LongNames, AreReplacedByTheirUuid) {
  EXPECT_EQ(uuid3("python.org"), "6fa459eaee8a3ca4894edb77e160355e");  // as the manual of Python has it
}

}  // namespace
}  // namespace opdump::msaccucmp
