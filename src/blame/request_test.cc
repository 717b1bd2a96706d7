#include "blame/request.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace opdump::blame {
namespace {

dump::Slot make_slot(model::Side side, std::uint32_t index, const std::string& file) {
  dump::Slot slot;
  slot.side = side;
  slot.index = index;
  slot.dtype = model::DType::float32;
  slot.shape = model::Shape{2, 3};
  slot.file = file;
  return slot;
}

dump::OperatorRun make_run() {
  dump::OperatorRun run;
  run.type = "mul";
  run.form = std::make_shared<const dump::CallForm>(
      dump::CallForm{"aten::mul.Tensor", R"({"self":{"tensor":0},"other":{"tensor":1,"constant":"4"}})"});
  run.slots = {make_slot(model::Side::input, 0, "/d/i0.npy"), make_slot(model::Side::output, 0, "/d/o0.npy")};
  return run;
}

TEST(Request, NamesFilesOfBothSides) {
  const dump::OperatorRun golden = make_run(), actual = make_run();
  const auto request = make_request(&golden, &actual);
  ASSERT_TRUE(request) << request.error().message();
  const auto json = nlohmann::json::parse(*request);
  EXPECT_EQ(json["function"], "aten::mul.Tensor");
  EXPECT_EQ(json["sides"]["actual"]["inputs"]["0"]["file"], "/d/i0.npy");
  EXPECT_EQ(json["sides"]["golden"]["outputs"]["0"]["shape"], (std::vector<int>{2, 3}));
  EXPECT_EQ(json["sides"]["golden"]["arguments"]["other"]["constant"], "4");
  EXPECT_EQ(make_request(nullptr, &actual)->find("golden"), std::string::npos);
  EXPECT_FALSE(json.contains("argues"));
  const auto more =
      nlohmann::json::parse(*make_request(&golden, &actual, {.argues = true, .calibrates = true}));
  EXPECT_TRUE(more["argues"] == true && more["calibrates"] == true && !more.contains("shares"));
}

TEST(Request, AsksToBeWithoutAFault) {
  const dump::OperatorRun golden = make_run(), actual = make_run();
  const auto ask = [&](const Without& without) {
    return nlohmann::json::parse(*make_request(&golden, &actual, {.without = without}))["without"].dump();
  };
  EXPECT_EQ(ask({}), "{}");
  EXPECT_EQ(ask({.own = true, .argument = false}), R"({"own":true})");
  EXPECT_EQ(ask({.own = false, .argument = true}), R"({"argument":true})");
  EXPECT_EQ(ask({.own = false, .argument = false, .inputs = {2}}), R"({"inputs":[2]})");
  EXPECT_EQ(make_forget_request(), R"({"forget":true})");
}

TEST(Request, PutsATensorInThePlaceOfAnother) {
  const auto request = make_put_request(make_slot(model::Side::output, 0, "/a/o0.npy"),
                                        make_slot(model::Side::output, 1, "/g/o1.npy"));
  ASSERT_TRUE(request) << request.error().message();
  const auto json = nlohmann::json::parse(*request);
  EXPECT_EQ(json["put"]["file"], "/g/o1.npy");
  EXPECT_EQ(json["for"]["file"], "/a/o0.npy");
  EXPECT_FALSE(make_put_request(make_slot(model::Side::output, 0, ""),
                                make_slot(model::Side::output, 0, "/g/o0.npy")));
}

TEST(Request, SaysWhatTheDumpLacks) {
  const auto reason = [](const dump::OperatorRun& run) {
    const auto request = make_request(&run, nullptr);
    return request ? "none" : request.error().message();
  };
  dump::OperatorRun run = make_run();
  run.form = nullptr;
  EXPECT_EQ(reason(run), "only recordings of PyTorch and ONNX name the functions to run");
  run.type = "compiled_0_0";
  EXPECT_EQ(reason(run), "the code of a compiled region is not in the dump");
  run = make_run();
  run.slots[0].file.clear();
  EXPECT_EQ(reason(run), "the dump has only statistics of its tensors");
  run.slots[0].undumped_reason = "uninitialised";
  EXPECT_EQ(reason(run), "it reads memory that no recorded operator has written to");
  run.type = "mul_";
  EXPECT_EQ(reason(run), "none");
  run.type = "mul";
  run.slots[0].undumped_reason = "only written to";
  EXPECT_EQ(reason(run), "none");
  run.slots[0].undumped_reason = "empty";
  run.slots[0].shape = model::Shape{0};  // nor does it have bytes
  EXPECT_EQ(reason(run), "none");
  run = make_run();
  run.slots.pop_back();
  EXPECT_EQ(reason(run), "none of its outputs is in the dump");
  run = make_run();
  run.slots[0].dtype = model::DType::int4;
  EXPECT_EQ(reason(run), "torch has no tensors of int4");
}

}  // namespace
}  // namespace opdump::blame
