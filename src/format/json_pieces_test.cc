#include "format/json_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/fusion_json.h"

namespace opdump::format {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonPieces, OperatorsAreCutOutOfGraphs) {
  const auto pieces = cut_graphs(
      R"({"name": "a\"]", "x": [1, {"op": []}], "graph": [{"op": [ {"a": "}]"}, {"b": [{}, 2]} ], "n": null}, {"op": []}]})");
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->rest,
            R"({"name": "a\"]", "x": [1, {"op": []}], "graph": [{"op": [], "n": null}, {"op": []}]})");
  ASSERT_EQ(pieces->ops.size(), 2U);
  EXPECT_THAT(pieces->ops[0], ElementsAre(R"({"a": "}]"})", R"({"b": [{}, 2]})"));
  EXPECT_THAT(pieces->ops[1], IsEmpty());
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
  for (const char* text : {R"({"graph": [{"op": [{"name": "a", "type": "b"}]}]} x)",
                           R"({"graph": [{"op": [{"name": "a", "type": "b"}]}], "x": })",
                           R"({"graph": [{"op": [{"name": "a", "type": "b", "x": [}]}]}]})",
                           R"({"graph": [{"op": [{"name": "a", "type" "b"}]}]})"})
    EXPECT_EQ(decode_fusion_json(text, "m.json").error().code(), Code::corrupt) << text;
  EXPECT_EQ(decode_fusion_json(R"({"graph": [{"op": [{"name": "a"}]}]})", "m.json").error().code(),
            Code::not_found);
  // A number that is none of simdjson's is no mistake.
  const auto file = decode_fusion_json(
      R"({"graph": [{"op": [{"name": "a", "type": "b", "x": 123456789012345678901234}]}]})", "m.json");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->graphs[0].ops[0].name, "a");
}

}  // namespace
}  // namespace opdump::format
