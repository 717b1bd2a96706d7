#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "result/query.h"
#include "result/schema.h"
#include "result/writer.h"

namespace opdump::result {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Result_ : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "resultXXXXXX";
    folder_ = mkdtemp(name.data());
    const auto made = Database::create(folder_ / "probe");
    if (!made) GTEST_SKIP() << made.error().message();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "run.opdump") const { return folder_ / name; }

  // A result of one operator that differs, without files.
  void write(const std::string& to, double cosine = 0.5) const {
    auto writer = ResultWriter::begin({.path = to, .golden = "g", .actual = "a"});
    ASSERT_TRUE(writer);
    auto run = std::make_shared<dump::OperatorRun>();
    run->type = "add";
    run->name = "Default/fc/add-op0";
    run->slots.resize(1);
    compare::OperatorComparison op;
    op.golden = op.actual = run;
    op.verdict = compare::Verdict::own_error;
    compare::SlotComparison& slot = op.slots.emplace_back();
    slot.golden = slot.actual = &run->slots[0];
    slot.metrics = math::Metrics{.count = 3, .cosine = cosine};
    slot.dtype = model::DType::float32;
    writer->take(op);
    compare::Comparison comparison;
    comparison.first_bad = op;
    comparison.outcome = compare::Answer::differs;
    ASSERT_TRUE(writer->conclude(comparison));
    dump::OperatorRun unknown = *run;
    unknown.step = 7;
    const BlamedOperator culprits[] = {{.run = run.get(),
                                        .slot = "output.0",
                                        .cause = "own_error",
                                        .confidence = "certain",
                                        .text = "is wrong"},
                                       {.run = &unknown, .removes = cosine}};
    ASSERT_TRUE(writer->note_blame("culprit: add", culprits));
    ASSERT_TRUE(writer->finish());
  }

  static std::string ask(const std::string& file, const std::string& sql,
                         QueryFormat format = QueryFormat::csv) {
    auto database = open_result(file);
    if (!database) return database.error().message();
    std::string text;
    const auto printed = print_query(*database, sql, format, [&](std::string_view more) { text += more; });
    return printed ? text : printed.error().message();
  }

  fs::path folder_;
};

TEST_F(Result_, keeps_operators_pairs_and_the_answer) {
  write(path());
  EXPECT_EQ(ask(path(), "SELECT name, module, verdict, key_slot FROM operators"),
            "name,module,verdict,key_slot\nDefault/fc/add-op0,Default/fc,own_error,1\n");
  EXPECT_EQ(ask(path(), "SELECT verdict, method, elements, rtol FROM pairs"),
            "verdict,method,elements,rtol\nmatch,elements,3,1.3e-06\n");
  EXPECT_EQ(ask(path(), "SELECT value FROM result WHERE key IN ('outcome', 'first_bad') ORDER BY key"),
            "value\n1\ndiffers\n");
}

TEST_F(Result_, keeps_culprits) {
  write(path());
  EXPECT_EQ(ask(path(), "SELECT place, operator, slot, confidence, removes, text FROM culprits"),
            "place,operator,slot,confidence,removes,text\n1,1,output.0,certain,,is wrong\n2,,,,0.5,\n");
  EXPECT_EQ(ask(path(), "SELECT value FROM result WHERE key = 'blame'"), "value\nculprit: add\n");
}

TEST_F(Result_, nan_is_a_text_and_infinity_a_number) {
  write(path("nan"), NAN);
  EXPECT_EQ(ask(path("nan"), "SELECT cosine FROM pairs", QueryFormat::json), "{\"cosine\":\"nan\"}\n");
  write(path("inf"), INFINITY);
  EXPECT_EQ(ask(path("inf"), "SELECT cosine, cosine > 1e300 AS more FROM pairs", QueryFormat::json),
            "{\"cosine\":\"inf\",\"more\":1}\n");
}

TEST_F(Result_, a_file_appears_when_it_is_whole) {
  {
    auto writer = ResultWriter::begin({.path = path()});
    ASSERT_TRUE(writer);
    EXPECT_FALSE(fs::exists(path()));
  }
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().filename(), "probe");
  write(path());
  write(path());  // replaces it
  EXPECT_EQ(ask(path(), "SELECT count(*) FROM operators"), "count(*)\n1\n");
}

TEST_F(Result_, queries_only_read) {
  write(path());
  for (const char* sql : {"DELETE FROM operators", "PRAGMA journal_mode = WAL", "ATTACH '/tmp/other' AS o",
                          "CREATE TABLE t(x)", "SELECT 1; SELECT 2", "SELECT load_extension('x')"})
    EXPECT_THAT(ask(path(), sql), Not(HasSubstr("\n"))) << sql;
  EXPECT_EQ(ask(path(), "SELECT count(*) FROM operators"), "count(*)\n1\n");
}

TEST_F(Result_, formats) {
  write(path());
  EXPECT_EQ(ask(path(), "SELECT 'a,\"b' AS x, x'00ff' AS y, NULL AS z"), "x,y,z\n\"a,\"\"b\",x'00ff',\n");
  EXPECT_EQ(ask(path(), "SELECT 'a' AS long_name, 1.5 AS y UNION SELECT 'b', 0.1", QueryFormat::table),
            "long_name  y\na          1.5\nb          0.1\n");
}

TEST_F(Result_, what_is_no_result_is_refused) {
  std::ofstream(path("text")) << "hello";
  EXPECT_FALSE(open_result(path("text")));
  EXPECT_FALSE(open_result(path("absent")));
  EXPECT_FALSE(open_result(folder_));
  auto other = Database::create(path("other"));
  ASSERT_TRUE(other->execute("CREATE TABLE operators(id)"));
  ASSERT_TRUE(other->close());
  EXPECT_THAT(ask(path("other"), "SELECT 1"), HasSubstr("not a result of opdump compare"));
}

// A view could compute for ever, a later version could mean something else.
TEST_F(Result_, tables_that_are_not_ours_are_refused) {
  auto hostile = Database::create(path());
  ASSERT_TRUE(create_tables(*hostile));
  ASSERT_TRUE(hostile->execute("DROP TABLE pairs; CREATE VIEW pairs AS SELECT 1 AS slot"));
  ASSERT_TRUE(hostile->close());
  EXPECT_THAT(ask(path(), "SELECT 1"),
              HasSubstr("the table pairs is missing or has other columns than expected"));
  auto later = Database::create(path("later"));
  ASSERT_TRUE(create_tables(*later));
  ASSERT_TRUE(later->execute("PRAGMA user_version = 99"));
  ASSERT_TRUE(later->close());
  EXPECT_THAT(ask(path("later"), "SELECT 1"), HasSubstr("version 99"));
}

TEST_F(Result_, damaged_files_are_errors) {
  write(path());
  std::string bytes;
  {
    std::ifstream in(path(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t at = 0; at < bytes.size(); at += 97) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    std::ofstream(path("damaged"), std::ios::binary) << damaged;
    EXPECT_FALSE(ask(path("damaged"), "SELECT * FROM operators, slots, pairs, result").empty());
  }
  for (std::size_t size = 0; size < bytes.size(); size += 1000) {
    std::ofstream(path("cut"), std::ios::binary) << bytes.substr(0, size);
    EXPECT_THAT(ask(path("cut"), "SELECT * FROM pairs"), Not(HasSubstr("own_error")));
  }
}

}  // namespace
}  // namespace opdump::result
