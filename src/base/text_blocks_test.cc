#include "base/text_blocks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace opdump {
namespace {

TEST(TextBlocks, KeepsTextsOfAnyLength) {
  std::vector<std::string> texts = {"", "a", std::string(127, 'b'), std::string(128, 'c')};
  for (std::size_t i = 0; i < 50000; ++i) texts.push_back("name." + std::to_string(i));
  texts.emplace_back((1 << 20) - 3, 'd');
  texts.emplace_back((3 << 20) + 5, 'e');  // several blocks
  for (std::size_t i = 0; i < 50000; ++i) texts.push_back("later." + std::to_string(i));
  TextBlocks blocks;
  std::vector<std::uint32_t> places;
  for (const std::string& text : texts) places.push_back(blocks.add(text).value());
  for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(blocks.at(places[i]), texts[i]) << i;
}

TEST(TextBlocks, APartOfATextHasAPlace) {
  TextBlocks blocks;
  const std::uint32_t place = blocks.add("Relu.layer.1.2").value();
  const std::string_view part = blocks.at(place).substr(5, 5);
  EXPECT_EQ(blocks.part(blocks.place_of_part(place, part), part.size()), "layer");
}

}  // namespace
}  // namespace opdump
