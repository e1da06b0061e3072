package preview

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"
)

const (
	excelBytes   = 32 << 20 // of a workbook's file
	excelSheets  = 8        // that are described
	excelRows    = 2000     // of a sheet that are looked into,
	excelCells   = 200_000  // with so many cells,
	excelText    = 8 << 20  // and so many bytes in them
	excelCounted = 200_000  // rows of a sheet that are counted
)

// readExcel describes the sheets of a workbook by their first rows. A workbook can't
// be sampled: it is one archive, with its texts in another part than its cells.
func readExcel(s *source, _ *entry) (section, error) {
	if s.size() > min(excelBytes, s.budget.left) {
		return section{}, errWorkbook
	}
	s.left = max(s.left, s.size())
	data, err := s.block(0, s.size())
	if err != nil {
		return section{}, err
	}
	if err := checkWorkbook(s, data); err != nil {
		return section{}, err
	}
	book, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{
		ShortDatePattern: "yyyy-mm-dd", UnzipSizeLimit: workbookParts, UnzipXMLSizeLimit: workbookParts,
	})
	if err != nil {
		return section{}, fmt.Errorf("can't be read as a workbook: %w", err)
	}
	defer func() { _ = book.Close() }()
	sheets := book.GetSheetList()
	out := section{head: "Excel, " + count(int64(len(sheets)), "sheet")}
	var simple []string
	for i, name := range sheets {
		if i == excelSheets {
			out.full = append(out.full, fmt.Sprintf("… and %s", count(int64(len(sheets)-i), "more sheet")))
			break
		}
		if err := s.check(); errors.Is(err, errTime) {
			return section{}, err
		}
		one, err := readSheet(s, book, name)
		title := "Sheet " + quoted(name)
		if err != nil {
			out.full = append(out.full, title+": "+inWords(err))
			continue
		}
		if len(sheets) == 1 {
			one.head = strings.Replace(one.head, "Sheet", "Excel, sheet "+quoted(name), 1)
			return one, nil
		}
		out.full = append(out.full, strings.Replace(one.head, "Sheet", title, 1))
		out.full = append(out.full, one.full...)
		simple = append(simple, title+": "+one.simple)
	}
	out.simple = strings.Join(simple, "\n")
	return out, nil
}

func readSheet(s *source, book *excelize.File, name string) (section, error) {
	rows, err := book.Rows(name)
	if err != nil {
		return section{}, err
	}
	defer func() { _ = rows.Close() }()
	formatted, err := book.Rows(name)
	if err != nil {
		return section{}, err
	}
	defer func() { _ = formatted.Close() }()
	var first [][]string
	width, read, empty, held, text := 0, 0, 0, 0, 0
	for read < excelRows && held < excelCells && text < excelText && rows.Next() {
		read++
		if errors.Is(s.check(), errTime) {
			return section{}, errTime
		}
		cells, err := cellsOf(rows, formatted)
		if err != nil {
			return section{}, err
		}
		held += len(cells)
		for _, cell := range cells {
			text += len(cell)
		}
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			if len(first) > 0 {
				empty++
			}
			continue
		}
		width = max(width, len(cells))
		first = append(first, cells)
	}
	if len(first) == 0 && (read == excelRows || held >= excelCells) {
		return section{head: "Sheet: nothing in the first " + count(int64(read), "row")}, nil
	}
	if len(first) == 0 {
		return section{head: "Sheet: empty"}, nil
	}
	more := 0
	for more < excelCounted && rows.Next() {
		if more++; more%1024 == 0 && errors.Is(s.check(), errTime) {
			break
		}
	}
	t := tableOf(first, width)
	t.estimate = 0
	one := t.section("Sheet")
	if more > 0 {
		all := count(int64(len(first)-btoi(t.header)+empty+more), "row")
		if more >= excelCounted {
			all = "more than " + all
		}
		one.head = strings.Replace(one.head, count(int64(t.rows), "row")+" ×", all+" ×", 1) +
			"; the columns are described from the first " + count(int64(t.rows), "row")
	}
	return one, nil
}

// cellsOf reads a row twice: numbers as they are stored, and dates and booleans,
// which are stored as numbers, as they are shown.
func cellsOf(rows, formatted *excelize.Rows) ([]string, error) {
	cells, err := rows.Columns(excelize.Options{RawCellValue: true})
	if err != nil || !formatted.Next() {
		return cells, err
	}
	shown, err := formatted.Columns(excelize.Options{ShortDatePattern: "yyyy-mm-dd"})
	if err != nil {
		return nil, err
	}
	for i := range min(len(cells), len(shown)) {
		if shown[i] == "TRUE" || shown[i] == "FALSE" || shown[i] != cells[i] && new(column).takeDate([]byte(shown[i])) {
			cells[i] = shown[i]
		}
	}
	return cells, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tableOf makes a table of rows that are cells already.
func tableOf(rows [][]string, width int) *table {
	t := newTable(width)
	var below []string
	if len(rows) > 1 {
		below = rows[1]
	}
	if isHeader(rows[0], below) {
		t.name(rows[0])
		rows = rows[1:]
	}
	fields := make([][]byte, 0, width)
	for _, row := range rows {
		fields = fields[:0]
		for _, cell := range row {
			fields = append(fields, []byte(cell))
		}
		t.add(fields, width) // a row ends with its last cell that is filled
	}
	return t
}
