// Tables of values as CSV files (RFC 4180), at full precision.

export type Cell = string | number | null;

export interface CsvTable {
  columns: string[];
  rows: Cell[][];
}

function field(cell: Cell): string {
  if (cell === null || (typeof cell === "number" && !Number.isFinite(cell))) return "";
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function csvText(table: CsvTable): string {
  return [table.columns, ...table.rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
