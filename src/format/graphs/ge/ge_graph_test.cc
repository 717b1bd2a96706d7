#include "format/graphs/ge/ge_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file/file.h"

namespace opdump::format {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kReal = fs::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/cann/ge_proto";

ProtoMessage decode(std::string_view text) {
  auto model = decode_ge_graph(text);
  EXPECT_TRUE(model) << (model ? "" : model.error().message());
  return model ? std::move(*model) : ProtoMessage();
}

json json_of(std::string_view text) { return ge_graph_json(decode(text)); }

TEST(GeGraph, RealFilesAreWrittenAgainToTheByte) {
  if (!fs::exists(kReal)) GTEST_SKIP() << "the reference data is not here";
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kReal)) {
    const auto text = read_file(entry.path(), 1 << 20);
    ASSERT_TRUE(text);
    const auto message = parse_proto_text(*text);
    ASSERT_TRUE(message) << entry.path() << message.error().message();
    EXPECT_TRUE(print_proto_text(*message) == *text) << entry.path();
    if (entry.path().extension() != ".txt") continue;
    ++count;
    EXPECT_TRUE(decode_ge_graph(*text)) << entry.path();
  }
  EXPECT_EQ(count, 3);
}

TEST(GeGraph, OperatorsOfARealFile) {
  const auto text = read_file(kReal / "ge_proto_00000001_Build.txt", 1 << 20);
  if (!text) GTEST_SKIP() << "the reference data is not here";
  const ProtoMessage model = decode(*text);
  const auto graphs = list_ge_graphs(model);
  ASSERT_EQ(graphs.size(), 5u);
  EXPECT_EQ(graphs[0].name, "ge_default_20230713074125_11");
  std::size_t count = 0;
  for (const GeGraph& graph : graphs) count += graph.operators.size();
  EXPECT_EQ(count, 18u);
  const json written = ge_graph_json(model);
  EXPECT_EQ(written["graph"].size(), 5u);
  EXPECT_EQ(written["attr"].size(), 7u);
}

TEST(GeGraph, OperatorsAndAttributes) {
  const ProtoMessage model = decode(
      "graph { name: 'ge_1' op { name: 'a' type: 'Data' input: '' } op { name: 'b' type: 'Relu' input: 'a:0' "
      "input: 'a:-1' attr { key: 'x' value { i: 3 } } } }");
  const auto graphs = list_ge_graphs(model);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].name, "ge_1");
  ASSERT_EQ(graphs[0].operators.size(), 2u);
  EXPECT_EQ(graphs[0].operators[1].type, "Relu");
  EXPECT_THAT(graphs[0].operators[1].inputs, ElementsAre("a:0", "a:-1"));
  const ProtoMessage& relu = model[0].fields[2].fields;
  ASSERT_NE(find_ge_attribute(relu, "x"), nullptr);
  EXPECT_EQ((*find_ge_attribute(relu, "x"))[0], proto_number("i", 3));
  EXPECT_EQ(find_ge_attribute(relu, "y"), nullptr);
}

// The shape of real_graph_map/gModel.json, which atc wrote.
TEST(GeGraph, JsonIsThatOfAtc) {
  const json op = json_of(R"(graph { op { name: "a" id: 7 input: "b:0" has_out_attr: true
    attr { key: "l" value { list { i: 1 i: 0x10 val_type: VT_LIST_INT } } }
    attr { key: "f" value { f: 0.05 } } attr { key: "b" value { b: false } }
    attr { key: "none" value { list_list_int { } } }
    attr { key: "t" value { t { desc { dtype: DT_INT64 layout: "ND" } data: "\001" } } }
    attr { key: "bt" value { bt: "\377" } }
    output_desc { dtype: DT_FLOAT shape { dim: 2 dim: -1 } reuse_input_index: 0 }
    output_desc { shape { } } } })")["graph"][0]["op"][0];
  EXPECT_EQ(op, json::parse(R"({"name": "a", "id": 7, "input": ["b:0"], "has_out_attr": true, "attr": [
    {"key": "l", "value": {"list": {"i": [1, 16], "val_type": "VT_LIST_INT"}}},
    {"key": "f", "value": {"f": "0.05"}}, {"key": "b", "value": {"b": false}},
    {"key": "none", "value": null},
    {"key": "t", "value": {"t": {"desc": {"dtype": "DT_INT64", "layout": "ND"}}}}, {"key": "bt", "value": null}],
    "output_desc": [{"dtype": "DT_FLOAT", "shape": {"dim": [2, -1]}, "reuse_input_index": 0}, null]})"));
}

TEST(GeGraph, UnknownFieldsAreKept) {
  const std::string text = "graph {\n  op {\n    name: \"a\"\n    later {\n      x: 5\n    }\n  }\n}\n";
  EXPECT_EQ(print_proto_text(decode(text)), text);
  EXPECT_EQ(json_of(text)["graph"][0]["op"][0]["later"]["x"], 5);
}

TEST(GeGraph, KindsAreChecked) {
  const auto error_of = [](std::string_view text) {
    const auto model = decode_ge_graph(text);
    EXPECT_FALSE(model) << text;
    return model ? "" : model.error().message();
  };
  EXPECT_EQ(error_of("graph {\n  name: 5\n}"), "2: name must be a string");
  EXPECT_EQ(error_of("graph {\n  op: 5\n}"), "2: op must be a message");
  EXPECT_THAT(error_of("graph { op { id: \"1\" } }"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of("graph { op { id: 1.5 } }"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of("graph { op { id: 0x } }"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of("graph { op { id: 0-7 } }"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of("graph { op { id: 99999999999999999999 } }"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of("graph { op { has_out_attr: maybe } }"), HasSubstr("must be true or false"));
  EXPECT_THAT(error_of("graph { op { output_desc { dtype: 1.5 } } }"), HasSubstr("must be a word"));
  EXPECT_THAT(error_of("name: \"a\""), HasSubstr("no graph"));
  EXPECT_THAT(error_of(""), HasSubstr("no graph"));
}

}  // namespace
}  // namespace opdump::format
