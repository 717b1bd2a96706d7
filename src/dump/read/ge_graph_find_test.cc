#include "dump/read/ge_graph_find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file/file_replacement.h"
#include "dump/temp_directory_test.h"
#include "dump/write/ge_graph_files.h"
#include "format/graphs/sample_graph.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(GeGraphFileName, OfAllGenerations) {
  using Name = GeGraphFileName;
  EXPECT_EQ(parse_ge_graph_file_name("ge_proto_00292_Build.txt"), (Name{292, std::nullopt, "Build"}));
  EXPECT_EQ(parse_ge_graph_file_name("ge_proto_00000001_Build.txt"), (Name{1, std::nullopt, "Build"}));
  EXPECT_EQ(parse_ge_graph_file_name("ge_proto_00000001_graph_11_Build.txt"), (Name{1, 11, "Build"}));
  EXPECT_EQ(parse_ge_graph_file_name("ge_proto_00007_graph_0_PreRunBegin.txt"), (Name{7, 0, "PreRunBegin"}));
  EXPECT_EQ(parse_ge_graph_file_name("ge_proto_00007_graph_x_Build.txt"),
            (Name{7, std::nullopt, "graph_x_Build"}));
  for (const char* name :
       {"ge_onnx_00000001_graph_11_Build.pbtxt", "ge_proto_0292_Build.txt", "ge_proto_00292.txt",
        "ge_proto_002a2_Build.txt", "ge_proto_00292_Build.json", "ge_proto_.txt", ""})
    EXPECT_FALSE(parse_ge_graph_file_name(name)) << name;
}

class GeGraphFindTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& graph, const std::string& op,
             const std::string& type = "Relu") {
    const std::string text = "graph {\n  name: \"" + graph + "\"\n  op {\n    name: \"" + op +
                             "\"\n    type: \"" + type + "\"\n  }\n}\n";
    ASSERT_TRUE(write_file_atomic(directory_.path() / name, text, 0600));
  }
  void make(const std::string& path) { fs::create_directories(directory_.path() / path); }
  GeGraphSearch find(std::string_view op = "") {
    auto search = find_ge_graph(directory_.path(), op);
    EXPECT_TRUE(search);
    return search ? std::move(*search) : GeGraphSearch();
  }
  // The file name of the choice.
  std::string chosen(std::string_view op = "") {
    const GeGraphSearch search = find(op);
    return search.chosen ? search.candidates[*search.chosen].path.filename().string() : "";
  }
  TempDirectory directory_;
};

TEST_F(GeGraphFindTest, TheHighestWithAnIterator) {
  write("ge_proto_00100_Build.txt", "ge_1", "IteratorGetNext");
  write("ge_proto_00292_Build.txt", "ge_2", "IteratorV2");
  write("ge_proto_00293_Build.txt", "ge_3", "x", "Data");
  write("ge_proto_00294_PreRunBegin.txt", "ge_4", "IteratorV2");
  EXPECT_EQ(chosen(), "ge_proto_00292_Build.txt");
  const GeGraphSearch search = find();
  EXPECT_THAT(search.candidates, SizeIs(3));
  EXPECT_EQ(search.reason, "has the word Iterator; the highest of 2 that do");
}

TEST_F(GeGraphFindTest, TheOneThatHoldsAnOperator) {
  write("ge_proto_00000001_graph_1_Build.txt", "ge_1", "net/conv1");
  write("ge_proto_00000002_graph_2_Build.txt", "ge_2", "net/conv2");
  EXPECT_EQ(chosen("net/conv1"), "ge_proto_00000001_graph_1_Build.txt");
  EXPECT_EQ(chosen("net_conv2"), "ge_proto_00000002_graph_2_Build.txt") << "as files spell it";
  EXPECT_EQ(chosen("conv"), "");
  ASSERT_TRUE(write_file_atomic(
      directory_.path() / "ge_proto_00000003_Build.txt",
      "graph { name: 'ge_3' op { name: 'fused' attr { key: '_datadump_original_op_names' value "
      "{ list { s: 'net/relu' val_type: VT_LIST_STRING } } } } }",
      0600));
  EXPECT_EQ(chosen("net/relu"), "ge_proto_00000003_Build.txt") << "an operator that it was made of";
  ASSERT_TRUE(write_file_atomic(
      directory_.path() / "ge_proto_00000004_Build.txt",
      "graph { name: 'ge_4' op { name: 'conv3add' output_desc { attr { key: '_datadump_origin_name' value "
      "{ s: 'net/add' } } } } op { name: 'StatefulPartitionedCall/net/dense/BiasAdd' } }",
      0600));
  EXPECT_EQ(chosen("net/add"), "ge_proto_00000004_Build.txt") << "whose output it has";
  for (const char* name :
       {"net/dense/BiasAdd", "StatefulPartitionedCall/net/dense/BiasAdd", "net_dense_BiasAdd"})
    EXPECT_EQ(chosen(name), "ge_proto_00000004_Build.txt") << name;
}

TEST_F(GeGraphFindTest, GraphsWithoutIterators) {
  write("ge_proto_00001_Build.txt", "ge_1", "x", "Data");
  write("ge_proto_00002_Build.txt", "ge_2", "w", "Variable");
  EXPECT_EQ(chosen(), "ge_proto_00001_Build.txt");
  model::Graph graph = format::sample_graph();
  graph.nodes[4].op.phase = model::Phase::optimizer;
  GeGraphSettings settings;
  settings.content = GeGraphSettings::GraphContent::without_weights;
  settings.directory = directory_.path() / "below";
  ASSERT_TRUE(GeGraphWriter(settings).write(graph, "net", {}));
  const GeGraphSearch search = find();
  ASSERT_TRUE(search.chosen);
  EXPECT_EQ(search.candidates[*search.chosen].graph_name, "net");
  EXPECT_EQ(search.reason, "has a backward or optimizer part");
}

TEST_F(GeGraphFindTest, NothingAndDamagedFiles) {
  EXPECT_FALSE(find().chosen);
  EXPECT_EQ(find_ge_graph(directory_.path() / "nowhere", "").error().code(), Code::not_found);
  ASSERT_TRUE(write_file_atomic(directory_.path() / "ge_proto_00001_Build.txt", "graph {", 0600));
  const GeGraphSearch search = find();
  EXPECT_FALSE(search.chosen);
  ASSERT_THAT(search.problems, SizeIs(1));
  EXPECT_THAT(search.problems[0].what, HasSubstr("expected }"));
}

TEST_F(GeGraphFindTest, DirectoriesOfTheModel) {
  for (const char* path : {"20201209/0/ge_default_71/1/0", "20201209/1/ge_default_71/1/0",
                           "20201209/0/ge_default_7", "20201209/0/a_b/5", "20201209/0/a_b/6"})
    make(path);
  GeGraphCandidate graph;
  graph.graph_name = "ge_default_71";
  EXPECT_THAT(find_model_directories(directory_.path(), graph),
              ElementsAre(directory_.path() / "20201209/0/ge_default_71",
                          directory_.path() / "20201209/1/ge_default_71"));
  graph.graph_name = "a/b";
  graph.name.graph_id = 6;
  EXPECT_THAT(find_model_directories(directory_.path(), graph),
              ElementsAre(directory_.path() / "20201209/0/a_b/6"));
  graph.name.graph_id = 7;
  EXPECT_THAT(find_model_directories(directory_.path(), graph),
              ElementsAre(directory_.path() / "20201209/0/a_b"));
  graph.graph_name = "";
  EXPECT_THAT(find_model_directories(directory_.path(), graph), IsEmpty());
  graph.graph_name = "other";
  EXPECT_THAT(find_model_directories(directory_.path() / "nowhere", graph), IsEmpty());
}

}  // namespace
}  // namespace opdump::dump
