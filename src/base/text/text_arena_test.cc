#include "base/text/text_arena.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace opdump {
namespace {

TEST(TextArena, KeepsTextsOfAnyLength) {
  std::vector<std::string> texts = {"", "a", std::string(127, 'b'), std::string(128, 'c')};
  for (std::size_t i = 0; i < 50000; ++i) texts.push_back("name." + std::to_string(i));
  texts.emplace_back((1 << 18) - 3, 'd');
  texts.emplace_back((1 << 20) + 5, 'e');  // more than a block
  for (std::size_t i = 0; i < 50000; ++i) texts.push_back("later." + std::to_string(i));
  TextArena arena;
  std::vector<ArenaText> kept;
  for (const std::string& text : texts) kept.push_back(arena.add(text));
  const TextArena moved = std::move(arena);
  for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(TextArena::view(kept[i]), texts[i]) << i;
  EXPECT_EQ(TextArena::view(nullptr), "");
}

TEST(InternedTexts, EqualTextsHaveOneNumber) {
  InternedTexts texts;
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 0; i < 50000; ++i) ASSERT_EQ(texts.add("name." + std::to_string(i)), i);
  EXPECT_EQ(texts.size(), 50000u);
  const InternedTexts moved = std::move(texts);
  EXPECT_EQ(moved[777], "name.777");
  EXPECT_EQ(moved.find("name.777"), 777U);
  EXPECT_FALSE(moved.find("name"));
}

}  // namespace
}  // namespace opdump
