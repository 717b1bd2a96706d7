#include "base/process/line_server.h"

#include <gtest/gtest.h>

#include <thread>

namespace opdump {
namespace {

TEST(LineServer, AnswersLineByLine) {
  auto server = LineServer::start({"sed", "-u", "s/^/got /"});
  ASSERT_TRUE(server) << server.error().message();
  EXPECT_EQ(*server->ask("a"), "got a");
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(*server->ask(large), "got " + large);
  EXPECT_EQ(*server->ask(""), "got ");
}

TEST(LineServer, AnEndInsteadOfAnAnswerIsAnError) {
  auto server = LineServer::start({"true"});
  ASSERT_TRUE(server);
  const auto answer = server->ask("a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message(), "true ended before it answered: exit status 0");
  EXPECT_FALSE(server->ask("b"));
}

TEST(LineServer, TheSignalThatEndsAProgramIsNamed) {
  auto server = LineServer::start({"sh", "-c", "read line; kill -SEGV $$"});
  ASSERT_TRUE(server);
  const auto answer = server->ask("a");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::internal);
  EXPECT_EQ(answer.error().message(), "sh ended before it answered: killed by signal 11 (SIGSEGV)");
}

TEST(LineServer, AProgramThatNeverAnswersCanBeEnded) {
  auto server = LineServer::start({"sleep", "1000"});
  ASSERT_TRUE(server);
  std::thread other([&] { server->kill(); });
  EXPECT_FALSE(server->ask("a"));
  other.join();
}

TEST(LineServer, OneProgramAnswersAtSeveralConnections) {
  auto servers =
      LineServer::start({"sh", "-c", "sed -u 's/^/other /' <&3 >&3 & exec sed -u 's/^/first /'"}, 2);
  ASSERT_TRUE(servers) << servers.error().message();
  ASSERT_EQ(servers->size(), 2u);
  EXPECT_EQ(*servers->at(1).ask("a"), "other a");
  EXPECT_EQ(*servers->at(0).ask("b"), "first b");
  servers->at(1).kill();
  EXPECT_FALSE(servers->at(1).ask("c"));
  EXPECT_EQ(*servers->at(0).ask("d"), "first d");
}

TEST(LineServer, AProgramThatIsNotThereIsAnError) {
  const auto server = LineServer::start({"opdump-no-such-program"});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code(), Code::not_found);
}

}  // namespace
}  // namespace opdump
