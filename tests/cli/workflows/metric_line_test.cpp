#include "cli/workflows/metric_line.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace fastgpu::cli {
namespace {

std::string shown(std::string_view line) {
  return to_text(metrics_in(line));
}

TEST_SUITE_BEGIN("cli/metric_line");

TEST_CASE("the lines of common training programs are understood") {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"loss=0.123", "loss 0.123"},
      {"epoch 3 step 120 loss 0.53 acc 91.2", "epoch 3, step 120, loss 0.53, acc 91.2"},
      {"{'loss': 0.6934, 'learning_rate': 1e-05, 'epoch': 0.5}",
       "loss 0.6934, learning_rate 1e-05, epoch 0.5"},
      {R"({"train/loss": "2.5", "step": 7})", "train/loss 2.5, step 7"},
      {"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300039", "Epoch 1, Loss 2.300039"},
      {"Epoch: [0][  10/5005]\tTime  0.3 ( 0.4)\tLoss 7.0e+00 (7.1e+00)\tAcc@1   0.00 (  0.1)",
       "Epoch 0, Loss 7.0e+00, Acc@1 0.00"},
      {"Epoch [1/10], Step [100/600], Loss: 0.5", "Epoch 1, Step 100, Loss 0.5"},
      {"100/100 [====] - 1s 5ms/step - loss: 0.53 - val_accuracy: 0.91",
       "loss 0.53, val_accuracy 0.91"},
      {"Epoch 3:  45%|\u2588\u2588\u258c  | 450/1000 [00:10<00:12, 43.1it/s, loss=0.53]",
       "Epoch 3, loss 0.53"},
      {" iteration      100/     500 | lm loss: 1.2E+00 | grad norm: 1.0 |",
       "iteration 100, loss 1.2E+00"},
      {"step 4 loss tensor(0.5314, grad_fn=<MseLossBackward0>)", "step 4, loss 0.5314"},
      {"| ppl 187.2 |", "ppl 187.2"},
      {"\x1b[1mEpoch 2\x1b[0m \x1b[32mloss\x1b[0m: -0.5", "Epoch 2, loss -0.5"},
      {"loss: nan", "loss nan"},
      {"loss inf", "loss inf"},
  };
  for (const auto& [line, wanted] : rows) {
    CAPTURE(line);
    CHECK(shown(line) == wanted);
  }
  CHECK(std::isnan(metrics_in("loss: nan").front().value));
  CHECK(metrics_in("loss 2.5e-1").front().value == 0.25);
}

TEST_CASE("other lines have no metrics") {
  for (const std::string_view line :
       {"", "epoch 3", "step 3 of 4, lr=0.1", "loss of connection 5", "loss",
        "loss=", "loss: ", "lossless 5ms", "loss 5ms", "accuracy 1.2.3", "accelerator 4", "class 3",
        "loss info", "0 loss", "loss 12:30:00", "loss0.5", "acc: none", "floss_"}) {
    CAPTURE(line);
    CHECK(metrics_in(line).empty());
  }
}

TEST_CASE("what a line may contribute is bounded") {
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "loss_" + std::to_string(i) + "=1 ";
  CHECK(metrics_in(many).size() == 6);
  CHECK(metrics_in("loss" + std::string(40, 'x') + "=1").empty());
  CHECK(metrics_in("loss=0." + std::string(40, '1')).empty());
  CHECK(metrics_in(std::string(5'000, ' ') + "loss=1").empty());
  CHECK(metrics_in("loss=1 loss=2").size() == 1);
  const std::string hostile = "loss\x1b]0;title\x07=1\xff\xfe acc\xc3=2 loss=3";
  for (const PrintedMetric& metric : metrics_in(hostile))
    for (const char c : metric.name + metric.text)
      CHECK((c > ' ' && c < '\x7f'));
}

TEST_CASE("the last line with a measure counts, and a carriage return ends a line") {
  CHECK(to_text(last_metrics("loss 3\nloss 2\nsaved\n")) == "loss 2");
  CHECK(to_text(last_metrics("loss 3\rloss 2\rloss 1")) == "loss 1");
  CHECK(last_metrics("").empty());
  CHECK(last_metrics("\n\n\r\n").empty());
  CHECK(last_metrics("starting\nepoch 1\n").empty());
  CHECK(to_text(last_metrics("loss 3")) == "loss 3");
  CHECK(last_metrics("loss 3\n" + std::string(70'000, 'x')).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
