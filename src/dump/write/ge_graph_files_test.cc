#include "dump/write/ge_graph_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "dump/temp_directory_test.h"
#include "format/graphs/ge/ge_graph.h"
#include "format/graphs/sample_graph.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using GraphContent = GeGraphSettings::GraphContent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

GeGraphSettings read(std::map<std::string, std::string, std::less<>> variables) {
  const Environment environment = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return read_ge_graph_settings(environment, 42, 3);
}

TEST(GeGraphSettings, NothingIsWrittenUnlessItIsAskedFor) {
  for (const char* value : {"", "0", "4", "-1", "yes", "2x"})
    EXPECT_EQ(read({{"DUMP_GE_GRAPH", value}}).content, GraphContent::none) << value;
  EXPECT_EQ(read({{"DUMP_GRAPH_PATH", "/a"}}).content, GraphContent::none);
  EXPECT_EQ(read({{"DUMP_GE_GRAPH", "1"}}).content, GraphContent::with_weights);
  EXPECT_EQ(read({{"DUMP_GE_GRAPH", "3"}}).content, GraphContent::relations);
}

TEST(GeGraphSettings, DirectoriesInTheOrderOfTheEngine) {
  const auto directory = [](std::map<std::string, std::string, std::less<>> variables) {
    variables.emplace("DUMP_GE_GRAPH", "2");
    return read(std::move(variables)).directory;
  };
  EXPECT_EQ(directory({{"NPU_COLLECT_PATH", "/a"}, {"DUMP_GRAPH_PATH", "/b"}}), "/a/extra-info/graph/42_3");
  EXPECT_EQ(directory({{"DUMP_GRAPH_PATH", "/b"}, {"ASCEND_WORK_PATH", "/c"}}), "/b/pid_42_deviceid_3");
  EXPECT_EQ(directory({{"ASCEND_WORK_PATH", "/c"}}), "/c");
  EXPECT_EQ(directory({{"DUMP_GRAPH_PATH", "b"}}), fs::current_path() / "b/pid_42_deviceid_3");
  EXPECT_TRUE(fs::equivalent(directory({}), fs::current_path()));
}

TEST(GeGraphSettings, LevelsChooseStages) {
  const auto wanted = [](const std::string& level) {
    const GeGraphSettings settings = read({{"DUMP_GE_GRAPH", "2"}, {"DUMP_GRAPH_LEVEL", level}});
    return std::string(settings.wants("PreRunBegin") ? "begin " : "") +
           (settings.wants("Build") ? "build" : "");
  };
  EXPECT_EQ(wanted(""), "begin build");
  EXPECT_EQ(wanted("1"), "begin build");
  EXPECT_EQ(wanted("3"), "build");
  EXPECT_EQ(wanted("4"), "begin ");
  EXPECT_EQ(wanted("AfterInfershape|Begin"), "begin ");
  EXPECT_EQ(wanted("PreRun|Build"), "begin build");
  EXPECT_EQ(wanted("AutoFuse|"), "");
}

TEST(GeGraphSettings, Formats) {
  const auto format = [](const std::string& text) {
    return read({{"DUMP_GE_GRAPH", "2"}, {"DUMP_GRAPH_FORMAT", text}});
  };
  EXPECT_TRUE(format("").proto && format("").onnx);
  EXPECT_TRUE(format("onnx").onnx && !format("onnx").proto);
  const GeGraphSettings settings = format("GE_PROTO | readable|dot");
  EXPECT_TRUE(settings.proto && !settings.onnx && settings.readable);
  EXPECT_THAT(settings.warnings, ElementsAre(HasSubstr("\"dot\"")));
  EXPECT_FALSE(format("").readable);
}

class GeGraphWriterTest : public testing::Test {
 protected:
  GeGraphSettings settings(GraphContent content = GraphContent::without_weights) {
    GeGraphSettings settings;
    settings.content = content;
    settings.directory = directory_.path() / "made/pid_1_deviceid_0";
    return settings;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path() / "made/pid_1_deviceid_0"))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  std::string text(const std::string& name) const {
    const auto text = read_file(directory_.path() / "made/pid_1_deviceid_0" / name, 1 << 20);
    EXPECT_TRUE(text) << name;
    return text ? *text : "";
  }
  TempDirectory directory_;
};

TEST_F(GeGraphWriterTest, FilesOfAGraph) {
  GeGraphWriter writer(settings());
  const auto left_out = writer.write(format::sample_graph(), "net", {});
  ASSERT_TRUE(left_out);
  EXPECT_THAT(*left_out, IsEmpty());
  EXPECT_THAT(
      names(),
      ElementsAre("ge_onnx_00000000_graph_3_PreRunBegin.pbtxt", "ge_onnx_00000001_graph_3_Build.pbtxt",
                  "ge_proto_00000000_graph_3_PreRunBegin.txt", "ge_proto_00000001_graph_3_Build.txt"));
  EXPECT_TRUE(format::decode_ge_graph(text("ge_proto_00000001_graph_3_Build.txt")));
  EXPECT_TRUE(format::parse_proto_text(text("ge_onnx_00000001_graph_3_Build.pbtxt")));
}

TEST_F(GeGraphWriterTest, OldNames) {
  GeGraphSettings old = settings();
  old.short_names = true;
  old.level = "3";
  GeGraphWriter writer(old);
  model::Graph another = format::sample_graph();
  another.id = 9;
  ASSERT_TRUE(writer.write(format::sample_graph(), "net", {}));
  ASSERT_TRUE(writer.write(another, "net", {}));
  EXPECT_THAT(names(), ElementsAre("ge_onnx_00000_Build.pbtxt", "ge_onnx_00001_Build.pbtxt",
                                   "ge_proto_00000_Build.txt", "ge_proto_00001_Build.txt"));
}

TEST_F(GeGraphWriterTest, AGraphThatIsWrittenAgainKeepsItsNumbers) {
  GeGraphSettings only = settings();
  only.level = "3";
  only.proto = only.onnx = false;
  only.readable = true;
  GeGraphWriter writer(only);
  model::Graph first = format::sample_graph(), second = first;
  second.id = 4;
  ASSERT_TRUE(writer.write(first, "net", {}));
  ASSERT_TRUE(writer.write(second, "net", {}));
  first.nodes.clear();
  ASSERT_TRUE(writer.write(first, "net", {}));
  EXPECT_THAT(names(), ElementsAre("ge_readable_00000000_graph_3_Build.txt",
                                   "ge_readable_00000001_graph_4_Build.txt"));
  EXPECT_THAT(text("ge_readable_00000000_graph_3_Build.txt"), Not(HasSubstr("convolution")));
  EXPECT_THAT(text("ge_readable_00000001_graph_4_Build.txt"), HasSubstr("convolution"));
}

TEST_F(GeGraphWriterTest, WeightsAreInTheBuiltGraph) {
  const std::vector<float> elements(150, 0.5);
  const std::vector<GeWeight> weights{
      {"conv1.weight", model::TensorView::row_major(model::DType::float32, {6, 1, 5, 5}, elements.data())}};
  GeGraphWriter writer(settings(GraphContent::with_weights));
  ASSERT_TRUE(writer.write(format::sample_graph(), "net", weights));
  const std::string data = "data: \"\\000\\000\\000?\\000\\000\\000?";
  EXPECT_THAT(text("ge_proto_00000001_graph_3_Build.txt"), HasSubstr(data));
  EXPECT_THAT(text("ge_onnx_00000001_graph_3_Build.pbtxt"), HasSubstr("raw_" + data));
  EXPECT_THAT(text("ge_proto_00000000_graph_3_PreRunBegin.txt"), Not(HasSubstr("data: ")));
}

TEST_F(GeGraphWriterTest, WeightsAboveTheLimitAreLeftOut) {
  const float zero = 0;  // repeated: no memory of that size is read
  const auto huge = model::Shape({1 << 14, 1 << 13});
  const std::vector<GeWeight> weights{
      {"conv1.weight",
       {model::DType::float32, huge, model::Shape({0, 0}), reinterpret_cast<const std::byte*>(&zero)}}};
  GeGraphWriter writer(settings(GraphContent::with_weights));
  const auto left_out = writer.write(format::sample_graph(), "net", weights);
  ASSERT_TRUE(left_out);
  EXPECT_THAT(*left_out, ElementsAre("conv1.weight"));
}

TEST_F(GeGraphWriterTest, ADirectoryThatCannotBeIsAnError) {
  ASSERT_TRUE(write_file_atomic(directory_.path() / "made", "a file", 0600));
  const auto left_out = GeGraphWriter(settings()).write(format::sample_graph(), "net", {});
  ASSERT_FALSE(left_out);
  EXPECT_THAT(left_out.error().message(), HasSubstr("made"));
}

}  // namespace
}  // namespace opdump::dump
