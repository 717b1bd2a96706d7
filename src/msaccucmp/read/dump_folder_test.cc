#include "msaccucmp/read/dump_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Folder {
 public:
  explicit Folder(std::initializer_list<const char*> names) {
    path_ = fs::temp_directory_path() /
            (std::string("dump_folder_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(path_);
    fs::create_directories(path_);
    for (const char* name : names) std::ofstream(path_ / name) << "";
  }
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(path_ / name) << text; }
  Outcome<DumpFolder> scan(bool has_rules = false) {
    return DumpFolder::scan(path_.string(), false, has_rules, log);
  }
  Log log;

 private:
  fs::path path_;
};

std::optional<OperatorFiles> find(const DumpFolder& folder, std::string_view op,
                                  std::optional<std::int64_t> output = {}) {
  auto files = folder.find(op, output);
  return files ? std::optional(std::move(*files)) : std::nullopt;
}

std::string last_name(const std::optional<OperatorFiles>& files) {
  return !files ? "" : fs::path(files->paths.back()).filename().string();
}

std::vector<OperatorFiles> all_of(const DumpFolder& folder) {
  std::vector<OperatorFiles> all;
  const FilesByOperator& files = folder.files();
  for (auto op = files.after({}); !op.is_none(); op = files.after(op)) all.push_back(files.at(op));
  return all;
}

TEST(DumpFolder, TheNewestFileOfAnOperatorCounts) {
  Folder folder({"Conv2D.scope_conv.9.5.1700000000000002", "Conv2D.scope_conv.9.5.1700000000000010",
                 "Relu.relu.4.1700000000000003", "convert_failed_file_list.txt", "no dump file"});
  const auto scanned = folder.scan();
  ASSERT_TRUE(scanned);
  EXPECT_EQ(scanned->kind(), DumpKind::npu);
  EXPECT_EQ(last_name(find(*scanned, "scope/conv")), "Conv2D.scope_conv.9.5.1700000000000010");
  EXPECT_EQ(find(*scanned, "scope.conv")->time_us, 1700000000000010U);
  EXPECT_EQ(last_name(find(*scanned, "relu")), "Relu.relu.4.1700000000000003");
  EXPECT_THAT(folder.log.lines().at(0).text, HasSubstr("\"no dump file\""));
}

TEST(DumpFolder, GoldenFilesHoldOneOutput) {
  Folder folder({"scope_conv.0.1700000000000002.npy", "scope_conv.1.1700000000000002.npy"});
  const auto scanned = folder.scan();
  ASSERT_TRUE(scanned);
  EXPECT_EQ(scanned->kind(), DumpKind::original);
  EXPECT_EQ(last_name(find(*scanned, "scope/conv", 1)), "scope_conv.1.1700000000000002.npy");
  EXPECT_FALSE(find(*scanned, "scope/conv", 2));
}

TEST(DumpFolder, NamesInTheOriginalsForm) {
  const auto key_of = [](const char* name) {
    const auto scanned = Folder({name}).scan();
    return scanned ? all_of(*scanned).at(0).key : "";
  };
  EXPECT_EQ(key_of("Relu.b-c_1.1.2"), "b-c_1");
  EXPECT_EQ(key_of("Relu.b.1.2.3.anything else"), "b");
  EXPECT_EQ(key_of("Relu.b.1.2x"), "b");
  EXPECT_EQ(key_of("scope.conv.0.17.npy"), "scope.conv.0");
  EXPECT_EQ(key_of("..0.17.npy"), "..0");
  EXPECT_EQ(key_of("a.0.17.pb"), "a.0");
  for (const char* name : {"Relu.b.1", "Relu.b.1.", "Relu.b.x.1", "Relu..1.2", "Re lu.b.1.2", ".b.1.2", "npy",
                           "0.17.npy", ".0.17.npy", "a.0.x.npy", "a.x.17.npy", "a b.0.17.npy", "a.b.0.17.pb"})
    EXPECT_EQ(key_of(name), "") << name;
}

TEST(DumpFolder, NamesTellWhetherAModelIsQuantised) {
  EXPECT_TRUE(Folder({"AscendQuant.c1_quant_layer.1.2.1700000000000002"}).scan()->is_quantised());
  EXPECT_EQ(Folder({"c1_quant_layer.0.1700000000000002.npy"}).scan()->kind(), DumpKind::quantised);
  EXPECT_EQ(Folder({"c1.0.1700000000000002.quant"}).scan()->kind(), DumpKind::quantised);
  EXPECT_EQ(Folder({"c1.0.1700000000000002.pb"}).scan()->kind(), DumpKind::original);
}

TEST(DumpFolder, RefusesMixturesAndNothing) {
  EXPECT_EQ(Folder({"a.0.17.npy", "Relu.b.1.2.1700000000000002"}).scan().error().status, Status::dump_file);
  EXPECT_EQ(Folder({"a.0.17.npy", "b.0.17.pb"}).scan().error().status, Status::dump_file);
  EXPECT_EQ(Folder({}).scan().error().status, Status::dump_file);
  EXPECT_EQ(Folder({"Relu.b.1.2.1700000000000002.9.1.0.0"}).scan().error().status, Status::task_type);
}

TEST(DumpFolder, NumbersStandForNamesThatWereTooLong) {
  Folder folder({"123", "456"});
  folder.write("mapping.csv", "123,Relu.long_name.1.2.1700000000000002\n");
  const auto scanned = folder.scan();
  ASSERT_TRUE(scanned);
  EXPECT_EQ(last_name(find(*scanned, "long_name")), "123");
  EXPECT_THAT(folder.log.lines().back().text, HasSubstr("\"456\""));
  EXPECT_EQ(op_type_of_file("/a/123"), "NaN");
  EXPECT_EQ(op_type_of_file("/a/Relu.x.1.2.17"), "Relu");
}

TEST(DumpFolder, SlicesOfAnOperatorAreInOrder) {
  Folder folder({"Conv2D.a_sgt_graph_0_conv_lxslice1.2.9.1700000000000001.4.487.0.0",
                 "Conv2D.a_sgt_graph_0_conv_lxslice0.2.9.1700000000000002.4.486.0.0"});
  const auto scanned = folder.scan();
  ASSERT_TRUE(scanned);
  const std::vector<OperatorFiles> all = all_of(*scanned);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].key, "conv");
  EXPECT_EQ(all[0].mode, TaskMode::manual);
  EXPECT_THAT(last_name(all[0]), HasSubstr("lxslice1"));
}

TEST(DumpFolder, NamesLoseTheGraphThatTheyBeginWith) {
  const std::pair<const char*, const char*> cases[] = {
      {"p_sgt_graph_1_conv", "conv"},
      {"p_sgt_graph_12", "p_sgt_graph_12"},
      {"p_sgt_graph_1_sgt_graph_12", "p_sgt_graph_1_sgt_graph_12"},
      {"p_sgt_graph_1_q_sgt_graph_12_3", "3"}};
  for (const auto& [name, key] : cases) {
    const std::string file = std::string("Relu.") + name + ".1.2.1700000000000002";
    const auto scanned = Folder({file.c_str()}).scan();
    ASSERT_TRUE(scanned);
    EXPECT_EQ(all_of(*scanned)[0].key, key) << name;
  }
}

}  // namespace
}  // namespace opdump::msaccucmp
