// metis-report: recorded runs as one page with charts, a file that needs nothing else.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "apps/cli.h"
#include "apps/embedded_page.h"
#include "apps/run_arguments.h"
#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/report/page.h"

namespace metis::apps {
namespace {

std::string Counted(size_t count, std::string_view what) {
  return Text(count, " ", what, count == 1 ? "" : "s");
}

int Report(const RunArguments& arguments, const std::string& title, std::string out) {
  Result<report::Figures> figures = GatherFigures(arguments);
  if (!figures) return Complain(figures.error().message);
  if (!title.empty()) figures->title = title;
  // Beside what was asked for first.
  if (out.empty()) out = (std::filesystem::path(arguments.places.front()) / "report.html").string();
  const report::Json data = report::FiguresJson(*figures, Text("metis ", ProgramVersion()));
  Result<std::string> page = report::FillPage(ReportPage(), figures->title, data);
  if (!page) return Complain(page.error().message);
  if (Result<void> written = report::WritePage(out, *page); !written) {
    return Complain(written.error().message);
  }
  std::cout << Counted(figures->runs(), "run") << " in " << Counted(figures->groups.size(), "group")
            << ", " << FormatBytes(page->size()) << "; open it in a browser:\n"
            << out << "\n";
  return Finish();
}

int Main(int argc, const char* const* argv) {
  RunArguments arguments;
  std::string title, out;
  CLI::App app(
      "Writes one HTML page with the charts of recorded runs: learning curves, contributions,\n"
      "staleness, validation cycles. The page holds its data and needs no network.",
      "metis report");
  app.footer(
      "Examples:\n"
      "  metis simulate --policy all --out runs/demo\n"
      "  metis report runs/demo\n"
      "  metis report runs/s1 runs/s2 --out report.html --title \"Power law, two seeds\"");
  AddRunArguments(app, arguments);
  app.add_option("--out", out, "The page; default: report.html in the first directory named");
  app.add_option("--title", title, "The heading; default: the directories named");
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  return Report(arguments, title, out);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
