#include "names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace opdump::torch_adapter {
namespace {

class NamesTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string config =
        R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + folder_.string() +
        R"(", "net_name": "net", "iteration": "all", "saved_data": "statistic", "input_output": 0,
            "kernels": [], "support_device": [0]}, "e2e_dump_settings": {"enable": true}})";
    opdump_options options{};
    options.size = sizeof options;
    options.config_text = config.c_str();
    ASSERT_EQ(opdump_open(&options, &session_), OPDUMP_OK) << opdump_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(opdump_close(session_), OPDUMP_OK);
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("opdump_names_" + std::to_string(::getpid()));
  opdump_session* session_ = nullptr;
};

TEST_F(NamesTest, APathIsAScopeForEachComponent) {
  Names names(session_, "Default", 0);
  Scope* const conv = names.descend(names.root(), "features-Sequential/6-Conv2d");
  EXPECT_EQ(conv->path(), "Default/features-Sequential/6-Conv2d");
  EXPECT_EQ(conv, names.child(names.child(names.root(), "features-Sequential"), "6-Conv2d"));
  EXPECT_EQ(names.descend(conv, ""), conv);
  EXPECT_EQ(names.descend(names.root(), "a/")->path(), "Default/a");
}

TEST_F(NamesTest, GradientsRepeatThePath) {
  Names names(session_, "Default", 0);
  Scope* const gradients = names.gradients_of(names.descend(names.root(), "fc-Linear"));
  EXPECT_EQ(gradients->path(), "Gradients/Default/fc-Linear");
  EXPECT_EQ(gradients->phase(), OPDUMP_BACKWARD);
  EXPECT_EQ(names.gradients_of(names.root())->path(), "Gradients/Default");
}

TEST_F(NamesTest, NumbersCountWithinTypeScopeAndStep) {
  Names names(session_, "Default", 0);
  int asked = 0;
  const auto next = [&](Scope* scope, const char* type) {
    return names.next_operator(scope, intern(type), 0, [&] { return ++asked, Source{}; }).op;
  };
  Scope* const conv = names.child(names.root(), "conv");
  const opdump_op* const first = next(conv, "relu");
  EXPECT_NE(next(conv, "relu"), first);
  EXPECT_NE(next(names.root(), "relu"), first);
  EXPECT_EQ(asked, 3);
  names.begin_step();
  EXPECT_EQ(next(conv, "relu"), first);
  EXPECT_EQ(asked, 3);  // a known operator needs no walk through the program's frames
}

TEST_F(NamesTest, WhereAnOperatorIsCalledMayChange) {
  Names names(session_, "Default", 0);
  int asked = 0;
  const auto next = [&](std::uint64_t place, int line) {
    names.begin_step();
    return names.next_operator(names.root(), intern("relu"), place,
                               [&] { return ++asked, Source{.file = intern("a.py"), .line = line}; });
  };
  const opdump_op* const first = next(1, 10).op;
  EXPECT_EQ(next(1, 11).source.line, 10);
  EXPECT_EQ(next(2, 12).source.line, 12);
  EXPECT_EQ(next(1, 13).source.line, 10);  // as it was said of that place
  EXPECT_EQ(next(1, 13).op, first);
  EXPECT_EQ(asked, 2);
}

TEST_F(NamesTest, OperatorsOfAModuleHaveLinesOfTheirOwn) {
  Names names(session_, "Default", 0);
  Scope* const loss = names.child(names.root(), "loss");
  const auto line = [&](const char* type, std::uint64_t place, int line_now) {
    return names
        .next_operator(loss, intern(type), place,
                       [&] { return Source{.file = intern("a.py"), .line = line_now}; })
        .source.line;
  };
  for (const int shift : {0, 0, 100}) {  // where it is called once more, nobody asks again
    names.begin_step();
    EXPECT_EQ(line("exp", 1, 10 + shift), 10);
    EXPECT_EQ(line("log", 1, 11 + shift), 11);
    names.begin_step();
    EXPECT_EQ(line("exp", 2, 20 + shift), 20);
    EXPECT_EQ(line("log", 2, 21 + shift), 21);
  }
}

}  // namespace
}  // namespace opdump::torch_adapter
