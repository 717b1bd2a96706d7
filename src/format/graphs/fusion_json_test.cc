#include "format/graphs/fusion_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::format {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Graphs = std::vector<std::vector<FusionOp>>;

Result<Graphs> decode(const std::string& text, const std::string& name = "m.json") {
  Graphs graphs;
  OPDUMP_CHECK_OK(decode_fusion_json(text, name, [&](std::size_t graph, FusionOp op) {
    graphs.resize(graph + 1);
    graphs[graph].push_back(std::move(op));
    return ok();
  }));
  return graphs;
}

constexpr const char* kGraph = R"({"name": "net", "graph": [{"name": "ge_default", "op": [
  {"name": "conv_lxslice1", "type": "Conv2D", "id": 3,
   "input": ["data_lxslice0:0", "", "ctrl:-1", "w:0"],
   "output_desc": [
     {"dtype": "DT_FLOAT16"},
     {"dtype": "DT_INT8", "attr": [
       {"key": "_datadump_origin_name", "value": {"s": "relu"}},
       {"key": "origin_format", "value": {"s": "NHWC"}},
       {"key": "origin_shape", "value": {"list": {"i": [1, 2, 3, 4], "val_type": 2}}}]}],
   "attr": [
     {"key": "_datadump_original_op_names", "value": {"list": {"s": ["conv", "relu"], "val_type": 1}}},
     {"key": "_L1_fusion_sub_graph_no", "value": {"s": "7"}},
     {"key": "_datadump_is_multiop", "value": {"b": true}}]},
  {"name": "made", "type": "TransData",
   "attr": [{"key": "_datadump_original_op_names", "value": {"list": {"val_type": 1}}}]},
  {"name": "plain", "type": "Relu"}]}]})";

TEST(FusionJson, ReadsWhatTellsOfTheOriginalModel) {
  const auto graphs = decode(kGraph);
  ASSERT_TRUE(graphs);
  ASSERT_EQ(graphs->size(), 1U);
  const std::vector<FusionOp>& ops = graphs->front();
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[0].name, "conv");
  EXPECT_EQ(ops[0].sequence, 3);
  EXPECT_THAT(ops[0].inputs, ElementsAre("data:0", "w:0"));
  EXPECT_THAT(ops[0].original_names, ElementsAre("conv", "relu"));
  EXPECT_EQ(ops[0].l1_group, "7");
  EXPECT_TRUE(ops[0].is_multi);
  // An output without attributes is left out, but it counts.
  EXPECT_THAT(ops[0].outputs, ElementsAre(FusionOutput{"relu", 1, "NHWC", {1, 2, 3, 4}, "DT_INT8"}));
  EXPECT_THAT(ops[1].original_names, ElementsAre(""));
  EXPECT_TRUE(ops[1].has_original_names);
  EXPECT_THAT(ops[2].original_names, ElementsAre("plain"));
  EXPECT_FALSE(ops[2].has_original_names);
}

TEST(FusionJson, SaysWhatIsMissingOrWrong) {
  const auto error_of = [](const char* text) {
    const auto graphs = decode(text);
    return graphs ? ""
                  : std::to_string(static_cast<int>(graphs.error().code())) + " " + graphs.error().message();
  };
  const std::string missing = std::to_string(static_cast<int>(Code::not_found)),
                    corrupt = std::to_string(static_cast<int>(Code::corrupt));
  EXPECT_THAT(error_of("{"), HasSubstr("Failed to load json object"));
  EXPECT_EQ(error_of("{}"), missing + " There is no \"graph\" element in fusion rule file.");
  EXPECT_EQ(error_of(R"({"graph": [{}]})"), missing + " There is no \"op\" element in fusion rule file.");
  EXPECT_EQ(
      error_of(R"({"graph": {}})"),
      corrupt +
          " The content of the json file \"'m.json'\" is invalid. The \"graph\" element is not an array.");
  EXPECT_THAT(error_of(R"({"graph": [{"op": [{"type": "A"}]}]})"), HasSubstr("\"name\""));
  EXPECT_THAT(error_of(R"({"graph": [{"op": [{"name": 1, "type": "A"}]}]})"), HasSubstr("not a string"));
  EXPECT_THAT(error_of(R"({"graph": [{"op": [{"name": "a", "type": "A", "id": 1.5}]}]})"),
              HasSubstr("not a integer"));
  for (const char* text : {"[]", "1", R"({"graph": [1]})", R"({"graph": [{"op": [1]}]})",
                           R"({"graph": [{"op": [{"name": "a", "type": "A", "attr": [1]}]}]})",
                           R"({"graph": [{"op": [{"name": "a", "type": "A", "output_desc": [1]}]}]})",
                           R"({"graph": [{"op": [{"name": "a", "type": "A", "input": [1]}]}]})"})
    EXPECT_NE(error_of(text), "") << text;
}

TEST(FusionJson, TakesWhateverIsJson) {
  const auto op_of = [](const std::string& members) {
    const auto graphs = decode(R"({"graph": [{"op": [{)" + members + "}]}]}");
    return graphs ? graphs->at(0).at(0) : FusionOp{};
  };
  // Of equal keys the last one counts, of equal attributes the first.
  const FusionOp twice = op_of(R"("name": "a", "name": "b", "type": "A", "attr": [
      {"key": "_L1_fusion_sub_graph_no", "value": {"s": "1"}},
      {"key": "_L1_fusion_sub_graph_no", "value": {"s": "2"}}])");
  EXPECT_EQ(twice.name, "b");
  EXPECT_EQ(twice.l1_group, "1");
  EXPECT_EQ(op_of(R"("name": "caf\u00e9", "type": "A")").name, "caf\u00e9");
  EXPECT_EQ(op_of(R"("name": "a", "type": "A", "id": -7)").sequence, -7);
  EXPECT_EQ(op_of(R"("name": "a", "type": "A", "id": 18446744073709551615)").sequence, -1);
  // Where it does not matter a number may be as large, and a value as deep, as it wants.
  EXPECT_EQ(op_of(R"("name": "a", "type": "A", "x": 123456789012345678901234567890)").name, "a");
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  EXPECT_EQ(op_of(R"("name": "a", "type": "A", "x": )" + deep).name, "a");
  EXPECT_TRUE(decode("\xef\xbb\xbf{\"graph\": []}"));
  EXPECT_FALSE(decode("{\"graph\": [], \"x\": \"\xff\"}"));
  EXPECT_FALSE(decode("{\"graph\": []} x"));
}

TEST(FusionJson, WhatTheOriginalDoesNotLookAtMayBeAnything) {
  const auto read = [](const std::string& members) {
    return decode(R"({"graph": [{"op": [{"name": "a", "type": "A", )" + members + "}]}]}");
  };
  EXPECT_EQ(read(R"("id": true)")->at(0).at(0).sequence, 1);
  for (const char* outputs : {"{}", R"({"x": 1})", R"("attr")", R"(["x", [], [1, "y"], {}])", R"([""])"})
    EXPECT_TRUE(read(R"("output_desc": )" + std::string(outputs))->at(0).at(0).outputs.empty()) << outputs;
  const std::string output = R"("attr": [{"key": "_datadump_origin_output_index", "value": {"i": false}},
      {"key": "origin_shape", "value": {"list": {"i": [1, "2"]}}}])";
  EXPECT_THAT(
      read(R"("output_desc": ["x", {"attr": {}}, {"attr": ""}, {)" + output + "}]")->at(0).at(0).outputs,
      ElementsAre(FusionOutput{"", 1, "", {}, ""}, FusionOutput{"", 2, "", {}, ""},
                  FusionOutput{"", 0, "", {}, ""}));
  for (const char* list : {"[]", R"(["x", 1])", R"("")", R"("al")"}) {
    const auto graphs = read(R"("attr": [{"key": "_datadump_original_op_names", "value": {"list": )" +
                             std::string(list) + "}}]");
    ASSERT_TRUE(graphs) << list;
    EXPECT_TRUE(graphs->at(0).at(0).has_original_names);
    EXPECT_THAT(graphs->at(0).at(0).original_names, ElementsAre(""));
  }
  for (const char* attributes : {R"({"x": 1})", R"("x")", R"(["x"])"})
    EXPECT_EQ(read(R"("output_desc": [{"attr": )" + std::string(attributes) + "}]").error().message(),
              "There is no \"key\" element in fusion rule file.");
}

TEST(FusionJson, WhatEndsTheOriginalIsAnError) {
  for (const char* members :
       {R"("output_desc": 1)", R"("output_desc": null)", R"("output_desc": [1])",
        R"("output_desc": ["my attr"])", R"("output_desc": [["dtype"]])", R"("output_desc": {"attr": 1})",
        R"("output_desc": [{"attr": 1}])", R"("input": [1])",
        R"("attr": [{"key": "_datadump_original_op_names", "value": {"list": 1}}])",
        R"("attr": [{"key": "_datadump_original_op_names", "value": {"list": ["s"]}}])",
        R"("attr": [{"key": "_datadump_original_op_names", "value": {"list": {"s": [1]}}}])"}) {
    const auto graphs =
        decode(R"({"graph": [{"op": [{"name": "a", "type": "A", )" + std::string(members) + "}]}]}");
    ASSERT_FALSE(graphs) << members;
    EXPECT_EQ(graphs.error().code(), Code::corrupt) << members;
  }
}

TEST(FusionJson, OperatorsComeWithTheNumberOfTheirGraph) {
  // Whether the text is cut into operators or, after a byte order mark, is not.
  const std::string text =
      R"({"graph": [{"op": [{"name": "a", "type": "A"}]}, {"op": []}, {"op": [{"name": "b", "type": "B"}]}]})";
  for (const std::string begin : {"", "\xef\xbb\xbf"}) {
    const auto graphs = decode(begin + text);
    ASSERT_TRUE(graphs);
    ASSERT_EQ(graphs->size(), 3U);
    EXPECT_EQ(graphs->at(0).at(0).name, "a");
    EXPECT_TRUE(graphs->at(1).empty());
    EXPECT_EQ(graphs->at(2).at(0).name, "b");
    std::size_t count = 0;  // until one is refused
    const auto refused = decode_fusion_json(begin + text, "m.json", [&](std::size_t, const FusionOp&) {
      ++count;
      return Result<>(Error(Code::io, "no room"));
    });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "no room");
    EXPECT_EQ(count, 1U);
  }
}

TEST(FusionJson, NamesOfSlices) {
  EXPECT_EQ(without_slices("a_lxslice0"), "a");
  EXPECT_EQ(without_slices("a_lxslice12_b_lxslice3:0"), "a_b:0");
  EXPECT_EQ(without_slices("a_lxslice"), "a_lxslice");
  EXPECT_EQ(without_slices(""), "");
}

TEST(FusionJson, NamesOfGraphsAreReadWithoutTheirOperators) {
  for (const char* text : {R"({"graph": [{"name": "a", "op": 5}, {"name": "b"}]})",
                           R"({"graph": [{"name": "a", "op": [{"name": 1}, {}]}, {"op": [], "name": "b"}]})",
                           R"(graph { name: "a" }
graph { name: "b" })"}) {
    const auto names = decode_graph_names(text, "m.json");
    ASSERT_TRUE(names) << text;
    EXPECT_THAT(*names, ElementsAre("a", "b"));
  }
  EXPECT_EQ(decode_graph_names(R"({"graph": [{}]})", "m.json").error().code(), Code::not_found);
  EXPECT_EQ(decode_graph_names(R"({"graph": [{"name": 5}]})", "m.json").error().code(), Code::corrupt);
  EXPECT_EQ(decode_graph_names("[", "m.json").error().code(), Code::corrupt);
  EXPECT_EQ(decode_graph_names(R"({"graph": [{"name": "a", "op": [{"x": }]}]})", "m.json").error().code(),
            Code::corrupt);
}

TEST(FusionJson, TheTextThatAtcWouldConvertIsTakenToo) {
  const auto graphs =
      decode(R"(graph { name: "ge_default" op { name: "relu" type: "Relu" input: "conv:0" id: 3
    attr { key: "_datadump_original_op_names" value { list { s: "net/relu" val_type: VT_LIST_STRING } } }
    output_desc { dtype: DT_FLOAT attr { key: "origin_format" value { s: "NHWC" } } } } })",
             "ge_proto_00001_Build.txt");
  ASSERT_TRUE(graphs);
  ASSERT_EQ(graphs->size(), 1U);
  const FusionOp& op = graphs->at(0).at(0);
  EXPECT_EQ(op.sequence, 3);
  EXPECT_THAT(op.inputs, ElementsAre("conv:0"));
  EXPECT_THAT(op.original_names, ElementsAre("net/relu"));
  EXPECT_EQ(op.outputs.at(0).dtype, "DT_FLOAT");
  EXPECT_EQ(op.outputs.at(0).origin_format, "NHWC");
}

}  // namespace
}  // namespace opdump::format
