#include "base/text/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump {
namespace {

using ::testing::ElementsAre;

struct ParsedItems {
  std::vector<std::string> members, items;
  std::string error;
};

ParsedItems parse(std::string_view text) {
  ParsedItems parsed;
  const auto done = parse_items(
      text, "rows",
      [&](const std::string& name, const nlohmann::json& value) {
        parsed.members.push_back(name + "=" + json_text(value));
      },
      [&](const nlohmann::json& item) { parsed.items.push_back(json_text(item)); });
  if (!done) parsed.error = done.error().message();
  return parsed;
}

TEST(JsonItems, EachOfTheArray) {
  const ParsedItems parsed =
      parse(R"({"a": 1, "rows": [{"rows": [1]}, [2, [3]], null, "x"], "b": {"rows": [4]}, "c": "y"})");
  EXPECT_THAT(parsed.members, ElementsAre("a=1", "c=\"y\""));
  EXPECT_THAT(parsed.items, ElementsAre(R"({"rows":[1]})", "[2,[3]]", "null", "\"x\""));
  EXPECT_EQ(parsed.error, "");
}

TEST(JsonItems, OtherTexts) {
  for (const std::string_view text :
       {"[]", "[[1]]", "{}", "3", R"({"rows": 1})", R"({"b": {"rows": [1]}})"}) {
    const ParsedItems parsed = parse(text);
    EXPECT_EQ(parsed.error, "no array \"rows\" in it") << text;
    EXPECT_TRUE(parsed.items.empty()) << text;
  }
}

TEST(JsonItems, WhatComesBeforeTheDamageIsTaken) {
  const ParsedItems parsed = parse("{\"rows\": [1, 2,\n  3 4]}");
  EXPECT_THAT(parsed.items, ElementsAre("1", "2", "3"));
  EXPECT_TRUE(parsed.error.starts_with("2:5: not JSON: ")) << parsed.error;
  EXPECT_TRUE(parse("").error.find("not JSON") != std::string::npos);
}

}  // namespace
}  // namespace opdump
