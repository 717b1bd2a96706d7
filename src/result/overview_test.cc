#include "result/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "result/page.h"
#include "result/schema.h"

namespace opdump::result {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;

// Five operators in two steps; blocks/10 comes after blocks/2 in natural order.
class OverviewTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = Database::create("");
    if (!made) GTEST_SKIP() << made.error().message();
    database_.emplace(std::move(*made));
    ASSERT_TRUE(create_tables(*database_));
    ASSERT_TRUE(database_->execute("INSERT INTO result VALUES('actual', 'a'), ('first_bad', 3)"));
    add(1, 0, "blocks/2", "add", "match", "0.5", "0.1");
    add(2, 0, "blocks/10", "mul", "match", "0", "0");
    add(3, 1, "blocks/2", "add", "own_error", "30", "0.5");
    add(4, 1, "blocks/10", "mul", "inherited", "9e999", "30");
    add(5, 1, "", "relu", "unreadable", "NULL", "NULL");
    load();
  }

  void load() {
    auto loaded = Overview::load(*database_);
    ASSERT_TRUE(loaded) << loaded.error().message();
    overview_.emplace(std::move(*loaded));
  }

  void add(int id, int step, const std::string& module, const std::string& type, const std::string& verdict,
           const std::string& output, const std::string& input) {
    const std::string name = (module.empty() ? "" : module + "/") + type + "-op0";
    ASSERT_TRUE(
        database_->execute("INSERT INTO operators(id, rank, graph, step, phase, type, name, module, "
                           "source_file, source_line, verdict, "
                           "sides, output_error, input_error) VALUES(" +
                           std::to_string(id) + ", 0, 0, " + std::to_string(step) + ", 'forward', '" + type +
                           "', '" + name + "', '" + module + "', 'Train.py', " + std::to_string(id) + ", '" +
                           verdict + "', 'both', " + output + ", " + input + ")"));
  }

  std::vector<std::int64_t> ids(RowRequest request) { return overview_->rows(*database_, request)->ids; }

  std::optional<Database> database_;
  std::optional<Overview> overview_;
};

TEST_F(OverviewTest, filters) {
  EXPECT_THAT(ids({}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(ids({.verdict = "match"}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.module = "blocks", .step = "1"}), ElementsAre(3, 4));
  EXPECT_THAT(ids({.module = "blocks/2"}), ElementsAre(1, 3));
  EXPECT_THAT(ids({.module = "(no module)"}), ElementsAre(5));
  EXPECT_THAT(ids({.text = "ADD train.py:3"}), ElementsAre(3));
  EXPECT_THAT(ids({.text = "nothing"}), ElementsAre());
  EXPECT_THAT(ids({.type = "no such type"}), ElementsAre());
  EXPECT_THAT(ids({.offset = 3, .count = 1}), ElementsAre(4));
  EXPECT_THAT(ids({.offset = 9}), ElementsAre());
}

TEST_F(OverviewTest, sorts_with_what_was_not_measured_last) {
  EXPECT_THAT(ids({.sort = "error"}), ElementsAre(2, 1, 3, 4, 5));
  EXPECT_THAT(ids({.sort = "-error"}), ElementsAre(4, 3, 1, 2, 5));
  EXPECT_THAT(ids({.sort = "name"}), ElementsAre(1, 3, 2, 4, 5));
}

TEST_F(OverviewTest, judges_again) {
  const auto as_judged = *overview_->rows(*database_, {});
  EXPECT_EQ(as_judged.differing, 2u);
  EXPECT_EQ(as_judged.first_differing, 3);
  const auto strict = *overview_->rows(*database_, {.verdict = "own_error", .tolerance = -0.5});
  EXPECT_EQ(strict.first_differing, 1);
  EXPECT_THAT(strict.ids, ElementsAre(1));  // 3 inherits now: its input is off, too
  const auto lenient = *overview_->rows(*database_, {.verdict = "match", .tolerance = 2});
  EXPECT_EQ(lenient.differing, 1u);
  EXPECT_EQ(lenient.first_differing, 4);
  EXPECT_THAT(lenient.ids, ElementsAre(1, 2, 3));
}

TEST_F(OverviewTest, what_was_excused_or_has_a_cause_stays_so) {
  add(6, 2, "m", "exp", "rounding", "8", "3");
  add(7, 2, "m", "eps", "argument_differs", "8", "0.1");
  load();
  EXPECT_THAT(ids({.verdict = "rounding", .tolerance = 0.5}), ElementsAre(6));
  EXPECT_THAT(ids({.verdict = "argument_differs", .tolerance = 0.5}), ElementsAre(7));
  EXPECT_THAT(ids({.verdict = "match", .step = "2", .tolerance = 1}), ElementsAre(6, 7));
  EXPECT_EQ(overview_->rows(*database_, {})->differing, 3u);  // rounding is no difference
}

TEST_F(OverviewTest, ranks_side_by_side) {
  ASSERT_TRUE(database_->execute(
      "INSERT INTO operators(id, rank, step, type, name, module, verdict, output_error) VALUES"
      "(6, 1, 1, 'add', 'blocks/2/add-op0', 'blocks/2', 'match', 0.25),"
      "(7, 1, 1, 'c10d::allreduce_', 'sum', '', 'inherited', 2)"));
  load();
  EXPECT_TRUE(overview_->has_several_ranks());
  const Json rows = Json::parse(overview_->ranks_json());
  EXPECT_EQ(rows[0]["name"], "sum");  // a collective that differs, before larger errors
  EXPECT_EQ(rows[0]["collective"], true);
  EXPECT_EQ(rows[1]["cells"][0][2], "inf");
  EXPECT_EQ(rows[2]["cells"], Json::array({Json::array({0, 3, 30}), Json::array({1, 6, 0.25})}));
}

TEST_F(OverviewTest, modules_by_step) {
  const Json outermost = Json::parse(overview_->modules_json(""));
  ASSERT_EQ(outermost.size(), 2u);
  EXPECT_EQ(outermost[0]["path"], "(no module)");
  EXPECT_EQ(outermost[1]["path"], "blocks");
  EXPECT_EQ(outermost[1]["has_children"], true);
  EXPECT_EQ(outermost[1]["cells"][0], Json::array({0, 0.5, 1, false, false}));
  EXPECT_EQ(outermost[1]["cells"][1][1], "inf");
  const Json blocks = Json::parse(overview_->modules_json("blocks"));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]["path"], "blocks/2");
  EXPECT_EQ(blocks[1]["path"], "blocks/10");
  EXPECT_EQ(Json::parse(overview_->modules_json("no such")), Json::array());
}

TEST_F(OverviewTest, a_point_of_the_curve_is_the_worst_of_its_operators) {
  ASSERT_TRUE(database_->execute("BEGIN"));
  for (int id = 6; id < 10006; ++id) add(id, 7, "m", "add", "match", id == 5000 ? "77" : "0.1", "0");
  ASSERT_TRUE(database_->execute("COMMIT"));
  auto loaded = Overview::load(*database_);
  ASSERT_TRUE(loaded);
  const Json summary = Json::parse(loaded->summary_json());
  const Json& line = summary["lines"].back();
  EXPECT_EQ(line["size"], 10000);
  ASSERT_EQ(line["points"].size(), Overview::kMostPoints);
  bool found = false;
  for (const Json& point : line["points"]) found = found || (point[0] == 5000 && point[2] == 77.0);
  EXPECT_TRUE(found);
  // Closer, every operator has its own point.
  const Json closer = Json::parse(loaded->lines_json(4990, 5000)).back();
  ASSERT_EQ(closer["points"].size(), 10u);
  EXPECT_EQ(closer["points"][0], Json::array({4996, 4990, 0.1, 0}));
  EXPECT_EQ(closer["points"][4][2], 77.0);
  EXPECT_EQ(summary["phases"][0][0], "forward");
  EXPECT_EQ(Json::parse(loaded->name_json(4996)), "m/add-op0");
  EXPECT_EQ(Json::parse(loaded->name_json(10006)), "");
  EXPECT_EQ(Json::parse(loaded->lines_json(9, 3)).back()["points"], Json::array());
}

TEST_F(OverviewTest, parts_for_the_page) {
  const Json first = Json::parse(*first_data(*database_, *overview_));
  EXPECT_EQ(first["detailed"], 3);
  EXPECT_EQ(first["total_operators"], 5);
  const Overview::Rows two = *overview_->rows(*database_, {.offset = 1, .count = 2});
  const Json rows = Json::parse(*overview_->rows_json(*database_, two, 0));
  EXPECT_EQ(rows["rows"]["id"], Json::array({2, 3}));
  EXPECT_EQ(rows["rows"]["verdict"], Json::array({"match", "own_error"}));
  EXPECT_EQ(rows["rows"]["error"], Json::array({0, 30}));
  EXPECT_EQ(rows["rows"]["max"], Json::array({nullptr, nullptr}));
  EXPECT_EQ(rows["total"], 5);
  EXPECT_EQ(rows["first_differing"], Json({{"id", 3}, {"name", "blocks/2/add-op0"}}));
  EXPECT_FALSE(operator_data(*database_, 99));
}

}  // namespace
}  // namespace opdump::result
