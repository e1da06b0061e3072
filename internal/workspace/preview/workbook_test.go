package preview

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// workbook makes one of a sheet and of shared strings, which need not be true.
func workbook(t *testing.T, shared, sheet string) []byte {
	t.Helper()
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"[Content_Types].xml":        `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>`,
		"_rels/.rels":                `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + office + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + office + `"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + office + `/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="` + office + `/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
		"xl/sharedStrings.xml":       `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` + shared + `</sst>`,
		"xl/worksheets/sheet1.xml":   `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + sheet + `</sheetData></worksheet>`,
	} {
		part, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHostileWorkbooks are small files that would take gigabytes.
func TestHostileWorkbooks(t *testing.T) {
	var far strings.Builder
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&far, `<row r="%d"><c r="XFD%d"><v>1</v></c></row>`, i, i)
	}
	const one = `<si><t>a</t></si>`
	use := `<row r="1">` + strings.Repeat(`<c t="s"><v>0</v></c>`, 10_000) + `</row>`
	for _, test := range []struct{ name, shared, sheet, want string }{
		{"honest", one, `<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2"><v>7</v></c></row>`, "- a: integer, 7"},
		{"many strings", strings.Repeat(one, 400_000), use[:11] + "</row>", errWorkbook.Error()},
		{"many empty strings", strings.Repeat("<si><r/></si>", 400_000), "", errWorkbook.Error()},
		{"dense", strings.Repeat(" ", 9<<20), "", errWorkbook.Error()},
		{"large", strings.Repeat(" ", 33<<20), "", errWorkbook.Error()},
		{"deep", one, strings.Repeat("<row>", 500_000), errWorkbook.Error()},
		{"deep by attributes", one, strings.Repeat(`<row a="b">`, 500_000), errWorkbook.Error()},
		{"wide", one, "<row>" + strings.Repeat("<c/>", 500_000) + "</row>", errWorkbook.Error()},
		{"one string in many cells", "<si><t>" + strings.Repeat("x", 1<<20) + "</t></si>", use, errWorkbook.Error()},
		{"hidden", one, "<![CDATA[</a></a>]]>", "as those of no workbook"},
		{"cells far to the right", one, far.String(), "16,384 columns"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := workbook(t, test.shared, test.sheet)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := fromMemory(data, readExcel)
			runtime.ReadMemStats(&after)
			text := s.head + "\n" + strings.Join(s.full, "\n")
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, test.want) {
				t.Errorf("it says %.300q, want %q", text, test.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
				t.Errorf("a workbook of %d bytes took %d bytes", len(data), took)
			}
		})
	}
}
