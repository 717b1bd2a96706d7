#include "msaccucmp/judge/npu_compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

DumpFolder scan(const fs::path& path, std::initializer_list<const char*> names) {
  fs::remove_all(path);
  fs::create_directories(path);
  for (const char* name : names) std::ofstream(path / name) << "";
  Log log;
  auto scanned = DumpFolder::scan(path.string(), false, false, log);
  fs::remove_all(path);
  return scanned ? std::move(*scanned) : DumpFolder();
}

std::string key_of(const DumpFolder& folder, FilesByOperator::Span place) {
  return place.is_none() ? "-" : folder.files().at(place).key;
}

TEST(NpuPairs, ComeByTimeThenByName) {
  const fs::path path = fs::temp_directory_path() / "npu_pairs";
  const DumpFolder mine = scan(path / "mine", {"A.last.1.2.1700000000000009", "B.first.1.2.1700000000000001",
                                               "C.z.1.2.1700000000000005", "D.a.1.2.1700000000000005",
                                               "E.alone.1.2.1700000000000002", "F.timeless.1.2.3"});
  const DumpFolder golden =
      scan(path / "golden", {"A.last.1.2.1700000000000001", "B.first.1.2.1700000000000002",
                             "B.more.1.2.1700000000000009", "C.less.1.2.1700000000000003",
                             "C.z.1.2.1700000000000005", "D.a.1.2.1700000000000005", "F.timeless.1.2.3"});
  const auto pairs = pair_operators(mine, golden);
  std::string text;
  for (const NpuPair& pair : pairs)
    text += key_of(mine, pair.mine) + " " + key_of(golden, pair.golden) + "\n";
  EXPECT_EQ(text, "timeless timeless\nfirst first\nalone -\nz z\na a\nlast last\n- less\n- more\n");
}

}  // namespace
}  // namespace opdump::msaccucmp
