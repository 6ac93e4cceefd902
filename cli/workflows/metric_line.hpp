// The metrics that a training program prints: "epoch 3 step 120 loss 0.53 acc 91.2".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// A number with its name, as a program prints them.
struct PrintedMetric {
  std::string name;  ///< Letters, digits and "_@/.-"; 32 bytes at most.
  std::string text;  ///< The number as it was printed: "0.53", "nan"; 24 bytes at most.
  double value = 0;
  friend bool operator==(const PrintedMetric&, const PrintedMetric&) = default;
};

/// Returns true for the name of a measure, such as "loss", "val_acc" or "Acc@1".
bool is_measure(std::string_view name);

/// Returns up to six measures (loss, accuracy, perplexity and the like) of a line and the progress
/// and the learning rate beside them, in their order. Empty for a line without a measure. Reads the
/// first 4 KiB of the line.
std::vector<PrintedMetric> metrics_in(std::string_view line);

/// Returns the metrics of the last line of a program's output that has a measure. Carriage returns
/// end lines, too. Reads the last 64 KiB of the text.
std::vector<PrintedMetric> last_metrics(std::string_view text);

/// Returns "epoch 3, step 120, loss 0.53".
std::string to_text(const std::vector<PrintedMetric>& metrics);

}  // namespace fastgpu::cli
