#include "format/graphs/json_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/graphs/fusion_json.h"

namespace opdump::format {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonPieces, OperatorsAreCutOutOfGraphs) {
  const std::string_view text =
      R"({"name": "a\"]", "x": [1, {"op": []}], "graph": [{"op": [ {"a": "}]"}, {"b": [{}, 2]} ], "n": null}, {"op": []}]})";
  const auto pieces = cut_graphs(text);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->rest,
            R"({"name": "a\"]", "x": [1, {"op": []}], "graph": [{"op": [], "n": null}, {"op": []}]})");
  std::vector<std::string_view> ops;
  for (std::size_t i = 0; i < pieces->ops.size(); ++i)
    ops.push_back(text.substr(pieces->ops[i].begin, pieces->ops[i].size));
  EXPECT_THAT(ops, ElementsAre(R"({"a": "}]"})", R"({"b": [{}, 2]})"));
  EXPECT_THAT(pieces->graph_ends, ElementsAre(2, 2));
}

TEST(JsonPieces, WhatIsOfAnotherFormIsNotCut) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"graph": []})", R"({"graph": [{}]})", R"({"graph": {"op": []}})",
        R"({"graph": [{"op": [1]}]})", R"({"graph": [{"op": [{}], "op": [{}]}]})",
        R"({"graph": [{"op": []}], "graph": [{"op": []}]})", R"({"gr\u0061ph": 1, "graph": [{"op": []}]})",
        R"({"graph": [{"op": [{},]}]})", R"({"graph": [{"op": [{} {}]}]})",
        R"({"graph": [{"op": [{"a": "]}]})", R"({"graph": [{"op": [{"a": ]}]})",
        "\xef\xbb\xbf{\"graph\": [{\"op\": []}]}"})
    EXPECT_FALSE(cut_graphs(text)) << text;
}

TEST(JsonPieces, MistakesAreFoundInEachPiece) {
  std::vector<std::string> names;
  const auto decode = [&](const char* text) {
    return decode_fusion_json(text, "m.json", [&](std::size_t, FusionOp op) {
      names.push_back(op.name);
      return ok();
    });
  };
  for (const char* text : {R"({"graph": [{"op": [{"name": "a", "type": "b"}]}]} x)",
                           R"({"graph": [{"op": [{"name": "a", "type": "b"}]}], "x": })",
                           R"({"graph": [{"op": [{"name": "a", "type": "b", "x": [}]}]}]})",
                           R"({"graph": [{"op": [{"name": "a", "type" "b"}]}]})",
                           R"({"graph": [{"op": [{"name": "a"}, {"name": "a", "type" "b"}]}]})"})
    EXPECT_EQ(decode(text).error().code(), Code::corrupt) << text;
  EXPECT_THAT(names, IsEmpty());
  EXPECT_EQ(decode(R"({"graph": [{"op": [{"name": "a"}]}]})").error().code(), Code::not_found);
  // A number that is none of simdjson's is no mistake.
  EXPECT_TRUE(decode(R"({"graph": [{"op": [{"name": "a", "type": "b", "x": 123456789012345678901234}]}]})"));
  EXPECT_THAT(names, ElementsAre("a"));
}

}  // namespace
}  // namespace opdump::format
