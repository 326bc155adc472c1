// The parts of ECharts that the pages use; what is not named here is not bundled.

import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { type ECharts, type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([BarChart, CustomChart, LineChart, ScatterChart]);
use([GridComponent, MarkLineComponent, TooltipComponent, SVGRenderer]);

export type Chart = ECharts;
export type ChartOption = EChartsCoreOption;

export function newChart(element: HTMLElement, width: number, height: number): Chart {
  return init(element, null, { renderer: "svg", width, height });
}
