#include "format/tables/mapping_csv.h"

#include <gtest/gtest.h>

namespace opdump::format {
namespace {

TEST(MappingCsv, ReadsWhatItWrites) {
  std::string text;
  append_mapping_line(text, "17.npy", "Add.a,b.0.0.1.input.0.DefaultFormat.float32.npy");
  append_mapping_line(text, "18.npy", "old.npy");
  append_mapping_line(text, "18.npy", "new.npy");
  EXPECT_EQ(text.substr(0, text.find('\n') + 1), "17.npy,Add.a,b.0.0.1.input.0.DefaultFormat.float32.npy\n");
  const MappingCsv mapping = decode_mapping_csv(text);
  EXPECT_EQ(mapping.damaged_lines, 0u);
  ASSERT_EQ(mapping.originals.size(), 2u);
  EXPECT_EQ(mapping.originals.at("17.npy"), "Add.a,b.0.0.1.input.0.DefaultFormat.float32.npy");
  EXPECT_EQ(mapping.originals.at("18.npy"), "new.npy");
}

TEST(MappingCsv, CountsWhatItCannotUse) {
  const MappingCsv mapping = decode_mapping_csv(
      "no comma\n,empty\nempty,\n../../etc/passwd,a.npy\na.npy,../b.npy\n\n1.npy,ok.npy\n2.npy,torn");
  EXPECT_EQ(mapping.damaged_lines, 7u);
  EXPECT_EQ(mapping.originals.size(), 1u);
}

}  // namespace
}  // namespace opdump::format
