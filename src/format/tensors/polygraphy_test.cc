#include "format/tensors/polygraphy.h"

#include <gtest/gtest.h>

#include <vector>

namespace opdump::format {
namespace {

TEST(Polygraphy, Base64) {
  std::vector<std::byte> bytes(4);
  EXPECT_EQ(*base64_bytes("AQL/fg=="), 4U);
  ASSERT_TRUE(decode_base64("AQL/fg==", bytes));
  EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{255}, std::byte{126}}));
  EXPECT_FALSE(base64_bytes("AQL"));
  EXPECT_FALSE(decode_base64("AQ=/fg==", bytes));
  EXPECT_FALSE(decode_base64("AQL/", bytes));
}

TEST(Polygraphy, ArraysByRunnerAndIteration) {
  std::vector<std::string> found;
  const auto take = [&](const PolygraphyArray& array) {
    found.push_back(array.runner + " " + std::to_string(array.runner_index) + " " +
                    std::to_string(array.iteration) + " " + array.name + ": " + array.fault);
  };
  const std::string text =
      R"({"lst": [["r", [{"outputs": {"a\u0062": {"values": {"array": "AAAA"}}, "t": {"values": {"tensor": ""}}}},
         {"outputs": {}}, {"outputs": {"c": {"values": {"array": "A"}}}}]]], "polygraphy_class": "RunResults"})";
  EXPECT_TRUE(is_polygraphy(text));
  ASSERT_TRUE(list_polygraphy(text, take));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[0].starts_with("r 0 0 ab: ")) << found[0];
  EXPECT_TRUE(found[1].starts_with("r 0 0 t: a tensor of torch")) << found[1];
  EXPECT_TRUE(found[2].starts_with("r 0 2 c: base64")) << found[2];
}

TEST(Polygraphy, DamagedText) {
  const auto none = [](auto&&) {};
  for (const char* text : {"{", "]", "{\"lst", "[\"a\\", "{\"lst\": [[}"})
    EXPECT_FALSE(list_polygraphy(text, none)) << text;
  EXPECT_FALSE(list_polygraphy(std::string(100, '['), none));
  EXPECT_FALSE(is_polygraphy("{\"data\""));
}

}  // namespace
}  // namespace opdump::format
